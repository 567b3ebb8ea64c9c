#include "schedules/catalogue/generate_as.hpp"
#include "schedules/catalogue/generator.hpp"

namespace plumb {

/// PyTorch's Schedule1F1B, as it is executed: `1f1b`, refused for fewer microbatches than devices. (Its introspection
/// list of 2025 to 2.14 numbers the forwards of the last rank 1 .. m; execution does not.)
///
///   p = 2, m = 3
///   d0: 0F0 0F1 0B0 0F2 0B1 0B2 0U0
///   d1: 1F0 1B0 1F1 1B1 1F2 1B2 1U0
Schedule torch_1f1b(const ScheduleParams& params) {
  require_one_chunk("torch-1f1b", params);
  require(params.num_microbatches >= params.num_devices, "torch-1f1b",
          "num_microbatches (" + std::to_string(params.num_microbatches) + ") must be at least num_devices (" +
              std::to_string(params.num_devices) + ")");
  return generate_as("torch-1f1b", "1f1b", params);
}

}  // namespace plumb
