#pragma once

#include <string>

#include "sim/comparison/compare.hpp"
#include "tools/tables/compared_names.hpp"

namespace plumb {

/// The parts of a comparison's error for a terminal: what each contributes, and its largest actions. Empty where the
/// error was not split, or is 0.
std::string error_split_text(const Comparison& comparison, const ComparedNames& names);

}  // namespace plumb
