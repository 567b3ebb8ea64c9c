
#include <algorithm>
#include <iterator>
#include <set>

#include "models/ground/error.hpp"
#include "sim/plan_search/plan_front.hpp"
#include "sim/plan_search/plan_search.hpp"

namespace plumb {

std::vector<ScoredPlan> search_front(const PlanJob& job, const PlanRanges& ranges, const PlanEffort& effort,
                                     const std::vector<ScoredPlan>& known) {
  PlanFront front;
  for (const ScoredPlan& plan : known) front.add(plan);
  std::set<std::int64_t> sizes;
  for (const Parallelism& parallelism : ranges.parallelisms) sizes.insert(parallelism.devices_per_stage());
  for (const std::int64_t size : sizes) {
    PlanRanges some = ranges;
    some.replicated = false;
    some.copies.clear();
    std::erase_if(some.parallelisms, [size](const Parallelism& each) {
      return each.devices_per_stage() != size || each.has_unlike_tensor();
    });
    for (const std::int32_t places : ranges.places) {
      if (size * places > job.num_devices || (effort.stop && effort.stop())) continue;
      some.places = {places};
      try {
        for (const ScoredPlan& plan : search_plan(job, some, effort).front) front.add(plan);
      } catch (const Error&) {  // no batch, cut or device for this
      }
    }
  }
  return front.take();
}

}  // namespace plumb
