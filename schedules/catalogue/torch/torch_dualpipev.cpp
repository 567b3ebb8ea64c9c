#include "schedules/catalogue/generate_as.hpp"
#include "schedules/catalogue/generator.hpp"

namespace plumb {

/// PyTorch's ScheduleDualPipeV: `dualpipev`. Needs m >= 2p.
///
///   p = 2, m = 4           {a|b} is (a;b)OVERLAP_F_B
///   d0: 0F0 0F1 0F2 3F0 3I0 3W0 3F1 {0F3|3B1} {3F2|0B0} 3B2 {3F3|0B1} 3B3 0I2 0W2 0I3 0W3 0U0 3U0
///   d1: 1F0 2F0 1F1 2F1 1F2 2B0 {2F2|1B0} {1F3|2B1} {2F3|1B1} 2B2 1B2 2I3 1I3 2W3 1W3 1U0 2U0
Schedule torch_dualpipev(const ScheduleParams& params) {
  require(params.chunks == 0 || params.chunks == 2, "torch-dualpipev",
          "chunks per device (" + std::to_string(params.chunks) + ") must be 2");
  require(params.num_microbatches >= 2 * std::int64_t{params.num_devices}, "torch-dualpipev",
          "num_microbatches (" + std::to_string(params.num_microbatches) + ") must be at least 2 num_devices (" +
              std::to_string(2 * std::int64_t{params.num_devices}) + ")");
  return generate_as("torch-dualpipev", "dualpipev", params);
}

}  // namespace plumb
