#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace plumb {

/// Cost of a choice that is impossible.
inline constexpr double kNever = std::numeric_limits<double>::infinity();

/// Copies of the weights that training holds: weights, gradients and two moments.
inline constexpr double kStateCopies = 4;

/// Position in a table of what is numbered from 0.
constexpr std::size_t at(std::int32_t k) { return static_cast<std::size_t>(k); }

}  // namespace plumb
