#include <algorithm>
#include <string>
#include <vector>

#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/searched/best_order.hpp"
#include "schedules/catalogue/searched/order_timer.hpp"
#include "schedules/catalogue/searched/span_bound.hpp"
#include "schedules/catalogue/zero_bubble/v_adaptive.hpp"
#include "schedules/catalogue/zero_bubble/v_block.hpp"

namespace plumb {

/// The V placement with a building block whose F0 and I1 travel four slots per device, F1 and I0 two: no idle time
/// between a device's first and last action with equal passes and m >= 2p, in the memory of 1F1B (2p stashes of half a
/// device). The order does not look at costs.
/// (V-ZB: Qi et al., Pipeline Parallelism with Controllable Memory, arXiv 2405.15362)
///
///   p = 2, m = 4 (stages 0 and 3 on d0; stages 1 and 2 on d1)
///   d0: 0F0 0F1 0F2 3F0 3I0 3W0 3F1 3I1 3W1 0I0 0W0 0F3 3F2 3I2 3W2 0I1 0W1 3F3 3I3 0I2 3W3 0I3 0W2 0W3 0U0 3U0
///   d1: 1F0 2F0 1F1 2F1 2I0 2W0 1I0 1W0 1F2 2F2 2I1 2W1 1I1 1W1 1F3 2F3 2I2 1I2 2I3 1I3 2W2 1W2 2W3 1W3 1U0 2U0
Schedule v_zb(const ScheduleParams& params) {
  require_v_chunks("v-zb", params);
  require_searchable("v-zb", params, 2 * params.num_devices);
  constexpr std::int32_t kPeriod = 6;
  const std::int32_t p = params.num_devices;
  std::vector<VPattern> block;
  for (std::int32_t d = 0; d < p; ++d) {
    // One slot between a device's last F0 and F1, and between its F1 and I1; two between its I1 and I0.
    const std::int32_t up = 2 * (p - 1 - d);
    const std::int32_t f1 = 4 * (p - 1) + 1 + up;
    const std::int32_t i1 = 6 * (p - 1) + 2 + 4 * d;
    const std::int32_t i0 = 10 * (p - 1) + 4 + up;
    block.push_back(with_weights({4 * d % kPeriod, f1 % kPeriod, i1 % kPeriod, i0 % kPeriod, 0, 0}));
  }
  BlockUnroller unroller(p, params.num_microbatches);
  const auto outcome = unroller.unroll(block, 2 * p);
  require(outcome == BlockUnroller::Outcome::kMade, "v-zb", "the building block makes no schedule of this size");
  return v_schedule("v-zb", params, unroller.words());
}

/// The V placement with the best of all building blocks for the given costs within `--memory-limit` (default: 2p times
/// what F keeps, the memory of 1F1B). With equal passes and m >= 2p, a peak of k stashes costs
/// 3p - 1 - 3k + max(3p, p + 1 + 2 ceil(k / 2)) slots of idle time: from a third of the memory of 1F1B to none at all.
/// (Qi et al., Pipeline Parallelism with Controllable Memory, arXiv 2405.15362, and its released adaptive scheduler)
///
///   p = 2, m = 4 (stages 0 and 3 on d0; stages 1 and 2 on d1)
///   d0: 0F0 0F1 0F2 3F0 3I0 3W0 3F1 3I1 0I0 3W1 0W0 0F3 3F2 3I2 0I1 3W2 0W1 3F3 3I3 0I2 3W3 0I3 0W2 0W3 0U0 3U0
///   d1: 1F0 2F0 1F1 2F1 2I0 2W0 1I0 1F2 1W0 2I1 2F2 2W1 1I1 1F3 1W1 2F3 2I2 1I2 2I3 1I3 2W2 1W2 2W3 1W3 1U0 2U0
Schedule v_auto(const ScheduleParams& params) {
  require_v_chunks("v-auto", params);
  const std::int32_t num_stages = 2 * params.num_devices;
  require_searchable("v-auto", params, num_stages);
  PassCosts costs = pass_costs(params, num_stages);
  std::int64_t largest = 1;
  for (const StagePasses& stage : costs.stages) largest = std::max(largest, stage.f.stash);
  const std::int64_t stashes = std::min<std::int64_t>(costs.limit / largest, num_stages);
  const auto words = search_v_blocks(costs, params.num_microbatches, stashes);
  require(words.has_value(), "v-auto",
          "no building block stays within the memory limit of " + std::to_string(stashes) +
              " stashes of one stage, expected about " + std::to_string(2 * ((params.num_devices + 4) / 3)));
  Schedule schedule = v_schedule("v-auto", params, *words);
  if (params.memory_limit <= 0) costs.limit = stashes * largest;
  const OrderProblem problem = v_problem(costs, static_cast<std::int32_t>(params.num_microbatches));
  OrderTimer timer(problem);
  timer.run(order_words(*words));
  add_span_bound({.found = timer.longest_device_span(), .bound = least_span(problem)}, costs, schedule);
  return schedule;
}

}  // namespace plumb
