#pragma once

#include <cstdint>
#include <span>

namespace plumb {

/// Returns whether a time is so far above the median, more than four times, that it tells of the machine.
bool is_disturbance(std::int64_t time, std::int64_t median);

/// Returns the mean of times without disturbances; 0 if none is left. `sorted`: least first; times and `median` are not
/// negative.
std::int64_t undisturbed_mean(std::span<const std::int64_t> sorted, std::int64_t median);

}  // namespace plumb
