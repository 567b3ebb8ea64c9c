#pragma once

#include <memory>
#include <span>

#include "trainer/stages/backend.hpp"

namespace plumb {

/// A stage without arithmetic: all memory is there, and nothing reads or writes it. Sums and norms are 0.
std::unique_ptr<StageBackend> make_paced_stage(NumberType type, const StageSpec& spec);

/// Leave the numbers as they are.
void add_nothing(NumberType type, std::span<std::byte> sum, std::span<const std::byte> term);
void scale_nothing(NumberType type, std::span<std::byte> numbers, double factor);

}  // namespace plumb
