#include "schedules/catalogue/generate_as.hpp"
#include "schedules/catalogue/generator.hpp"

namespace plumb {

/// Megatron's interleaved order in groups of p, under the name that the breadth-first paper gives it: a microbatch
/// goes as deep as it can before the next group starts. Bounds are those of `interleaved`. Needs m to be a multiple of
/// p, or smaller. (Narayanan et al., arXiv 2104.04473; named in Lamy-Poirier, arXiv 2211.05953, section 3)
///
///   p = 2, v = 2, m = 4
///   d0: 0F0 0F1 2F0 2F1 0F2 2B0 0F3 2B1 2F2 0B0 2F3 0B1 2B2 2B3 0B2 0B3 0U0 2U0
///   d1: 1F0 1F1 3F0 3B0 3F1 3B1 1F2 1B0 1F3 1B1 3F2 3B2 3F3 3B3 1B2 1B3 1U0 3U0
Schedule depth_first(const ScheduleParams& params) {
  const std::int64_t p = params.num_devices;
  const std::int64_t m = params.num_microbatches;
  require(m < p || m % p == 0, "depth-first",
          "num_microbatches (" + std::to_string(m) + ") must be a multiple of num_devices (" + std::to_string(p) +
              ") or smaller; 'interleaved' has groups of other sizes");
  return generate_as("depth-first", "interleaved", params);
}

}  // namespace plumb
