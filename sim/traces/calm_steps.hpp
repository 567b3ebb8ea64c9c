#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace plumb {

/// Returns the steps that count, ascending, by the lengths of all steps. Left out are
/// - disturbed ones: more than 1.25 times as long as the (lower) median;
/// - those of another kind: shorter than all others that count, with nothing between but a gap of more than 1.25 times.
std::vector<std::int32_t> calm_steps(std::span<const std::int64_t> step_ns);

/// Returns a sentence on each kind of steps that `calm_steps` leaves out: which ones, and why.
std::vector<std::string> left_out_steps(std::span<const std::int64_t> step_ns);

}  // namespace plumb
