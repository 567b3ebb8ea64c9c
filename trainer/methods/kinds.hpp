#pragma once

#include <memory>

#include "trainer/correction.hpp"

// One function for each method, each in trainer/methods/<name>.cpp; the table is in table.cpp.

namespace plumb {

std::unique_ptr<Correction> make_t1(const CorrectionFacts& facts);
std::unique_ptr<Correction> make_t2(const CorrectionFacts& facts);

}  // namespace plumb
