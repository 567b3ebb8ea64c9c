#pragma once

#include <cstdint>
#include <string_view>

#include "schedules/catalogue/generator.hpp"

namespace plumb {

/// Forwards that a device of a linear pipeline takes before its first backward (DAPPLE, arXiv 2007.01045, section 3).
enum class WarmupPolicy : std::uint8_t {
  kA,  ///< p - d: as few as keep the pipeline busy when transfers are free
  kB,  ///< 2(p - d) - 1: as many as make a transfer in each direction overlap compute
};

/// A linear pipeline that warms up by `policy`, then takes a backward and a forward in turn, then drains.
///
/// Reads the options `limit=K` (at most K forwards ahead of the backwards on any device) and `recompute` (see
/// `recompute_choice`). Device d keeps at most min(p - d, limit, m) activations, by policy B min(2(p - d) - 1, limit,
/// m).
Schedule alternating_pipeline(std::string_view name, const ScheduleParams& params, WarmupPolicy policy);

}  // namespace plumb
