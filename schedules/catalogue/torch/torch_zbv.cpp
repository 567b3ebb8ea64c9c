#include "schedules/catalogue/generate_as.hpp"
#include "schedules/catalogue/generator.hpp"

namespace plumb {

/// PyTorch's ScheduleZBVZeroBubble: `zb-v` in the hand-written order. Any p and m.
///
///   p = 2, m = 3
///   d0: 0F0 0F1 0F2 3F0 3I0 3W0 3F1 3I1 3W1 0I0 0W0 3F2 3I2 3W2 0I1 0W1 0I2 0W2 0U0 3U0
///   d1: 1F0 2F0 1F1 2F1 2I0 2W0 1F2 1I0 1W0 2F2 2I1 2W1 1I1 2I2 1I2 1W1 2W2 1W2 1U0 2U0
Schedule torch_zbv(const ScheduleParams& params) {
  require(params.chunks == 0 || params.chunks == 2, "torch-zbv",
          "chunks per device (" + std::to_string(params.chunks) + ") must be 2");
  return generate_as("torch-zbv", "zb-v", params);
}

}  // namespace plumb
