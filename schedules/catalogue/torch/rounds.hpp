#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "schedules/catalogue/generator.hpp"

namespace plumb {

/// Microbatches of a round of PyTorch's interleaved kinds: m is cut into max(1, m div p) rounds of equal size.
/// Throws `Error` if they do not divide evenly.
inline std::int64_t torch_round(std::string_view name, const ScheduleParams& params) {
  const std::int64_t m = params.num_microbatches;
  const std::int64_t rounds = std::max<std::int64_t>(1, m / params.num_devices);
  require(m % rounds == 0, name,
          "num_microbatches (" + std::to_string(m) +
              ") must be a multiple of the number of rounds (m div p = " + std::to_string(rounds) + ")");
  return m / rounds;
}

}  // namespace plumb
