#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "schedules/catalogue/post_validation.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/catalogue/zero_bubble/v_order.hpp"
#include "schedules/catalogue/zero_bubble/zb_v_search.hpp"

namespace plumb {
namespace {

/// The hand-written order, validated where that is asked for.
Schedule by_rule(ScheduleParams params) {
  params.options.erase("order");
  return generate_by_rules(schedule_named("zb-v"), params);
}

Schedule by_search(const ScheduleParams& params) {
  const std::int32_t num_stages = 2 * params.num_devices;
  require_searchable("zb-v", params, num_stages);
  PassCosts costs = pass_costs(params, num_stages);
  if (params.memory_limit <= 0) {
    assume_paper_stashes(costs);
    std::int64_t largest = 0;
    for (const StagePasses& stage : costs.stages) largest = std::max(largest, stage.f.stash);
    costs.limit = num_stages * largest;
  }
  const auto order =
      search_zb_v(costs, static_cast<std::int32_t>(params.num_microbatches), search_effort("zb-v", params, true, 6));
  require(order.has_value(), "zb-v", "the search finds no order within the memory limit; see 'v-auto' for less memory");
  Schedule schedule = v_schedule("zb-v", params, v_words(order->words));
  add_span_bound(*order, costs, schedule);
  return schedule;
}

}  // namespace

/// By its rules; `order=search`: the heuristic for the given costs within `--memory-limit` (default 2p times what F
/// keeps), improved and with a lower bound on its span as `schedules/catalogue/searched/best_order.hpp` says.
Schedule zb_v(const ScheduleParams& params) {
  require_v_chunks("zb-v", params);
  const bool rule = choice("zb-v", params, "order", {"rule", "search"}) == "rule";
  for (const char* option : {"improve", "proof"}) {
    require(!rule || !params.options.contains(option), "zb-v",
            "option " + std::string(option) + " belongs to order=search");
  }
  return rule ? by_rule(params) : with_validation("zb-v", params, by_search(params));
}

}  // namespace plumb
