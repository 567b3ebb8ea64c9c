#include <vector>

#include "schedules/generator.hpp"
#include "schedules/zero_bubble/v_greedy.hpp"

namespace plumb {
namespace {

/// Generates `name` from the block whose slots on device d are `slots_of(d)`.
template <class SlotsOf>
Schedule controlled(std::string_view name, const ScheduleParams& params, SlotsOf&& slots_of) {
  require_v_chunks(name, params);
  require_searchable(name, params, 2 * params.num_devices);
  std::vector<VSlots> block;
  for (std::int64_t d = 0; d < params.num_devices; ++d) block.push_back(slots_of(d));
  return v_schedule(name, params, greedy_v_words(block, params.num_microbatches));
}

}  // namespace

/// The V placement with the smallest memory: F and I travel one slot per device in both directions. A third of the
/// memory of 1F1B: floor((p + 4) / 3) microbatches, twice that many stashes. Idle time appears in every microbatch as
/// soon as F or I takes longer than the mean of F, I and W. The order does not look at costs.
/// (V-Min: Qi et al., Pipeline Parallelism with Controllable Memory, arXiv 2405.15362, and its released code)
///
Schedule v_min(const ScheduleParams& params) {
  const std::int64_t p = params.num_devices;
  const std::int64_t shift = p % 3 == 0 ? 2 : 0;
  return controlled("v-min", params, [&](std::int64_t d) {
    return VSlots{d, 2 * p - 1 - d, 2 * p + shift + d, 4 * p + shift - 1 - d};
  });
}

/// The V placement with half of the memory of 1F1B: floor(p / 2) + 1 microbatches, twice that many stashes. No idle
/// time appears in the steady state while I is within half a W of F. The order does not look at costs.
/// (V-Half: Qi et al., Pipeline Parallelism with Controllable Memory, arXiv 2405.15362, and its released code)
Schedule v_half(const ScheduleParams& params) {
  const std::int64_t p = params.num_devices;
  const std::int64_t shift = p % 2 == 0 ? 3 : 0;
  return controlled("v-half", params, [&](std::int64_t d) {
    return VSlots{2 * d, 3 * p - 2 - d, 3 * p - 1 + shift + 2 * d, 6 * p - 2 + shift - d};
  });
}

}  // namespace plumb
