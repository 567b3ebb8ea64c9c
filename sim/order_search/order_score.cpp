#include "sim/order_search/order_score.hpp"

#include <utility>

#include "models/ground/error.hpp"
#include "schedules/checks/validate.hpp"
#include "sim/simulate.hpp"

namespace plumb {

OrderRun without_details(OrderRun run) {
  run.options.spans = run.options.memory_curve = run.options.idle_causes = run.options.critical_path = false;
  return run;
}

std::optional<OrderScore> score_order(const Schedule& schedule, const OrderRun& run) {
  try {
    const Timeline timeline = simulate_summary(schedule, run.costs, run.cluster, run.lowering, run.options);
    if (run.fits && !run.fits(timeline)) return std::nullopt;
    if (!check_document(schedule).empty()) return std::nullopt;  // the simulator asks none of the rules of a document
    OrderScore score{.makespan = timeline.makespan, .ends = 0};
    for (const DeviceSummary& device : timeline.devices) score.ends += device.last_end;
    return score;
  } catch (const Error&) {  // a deadlock, or a list that no runtime accepts
    return std::nullopt;
  }
}

}  // namespace plumb
