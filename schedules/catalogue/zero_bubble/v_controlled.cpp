#include <vector>

#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/zero_bubble/v_greedy.hpp"

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
///   p = 2, m = 3 (stages 0 and 3 on d0; stages 1 and 2 on d1)
///   d0: 0F0 0F1 3F0 3I0 3W0 0I0 0W0 3F1 3I1 3W1 0F2 0I1 0W1 3F2 3I2 3W2 0I2 0W2 0U0 3U0
///   d1: 1F0 2F0 2I0 1I0 1F1 2F1 2W0 1W0 2I1 1I1 1F2 2F2 2W1 1W1 2I2 1I2 2W2 1W2 1U0 2U0
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
///
///   p = 2, m = 3 (stages 0 and 3 on d0; stages 1 and 2 on d1)
///   d0: 0F0 0F1 0F2 3F0 3I0 3W0 3F1 0I0 3I1 3W1 3F2 3I2 0I1 3W2 0I2 0W0 0W1 0W2 0U0 3U0
///   d1: 1F0 2F0 1F1 2F1 2I0 2W0 1I0 1W0 1F2 2F2 2I1 1I1 2I2 1I2 2W1 2W2 1W1 1W2 1U0 2U0
Schedule v_half(const ScheduleParams& params) {
  const std::int64_t p = params.num_devices;
  const std::int64_t shift = p % 2 == 0 ? 3 : 0;
  return controlled("v-half", params, [&](std::int64_t d) {
    return VSlots{2 * d, 3 * p - 2 - d, 3 * p - 1 + shift + 2 * d, 6 * p - 2 + shift - d};
  });
}

}  // namespace plumb
