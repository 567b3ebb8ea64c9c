#include "schedules/catalogue/zero_bubble/gis_order.hpp"

namespace plumb {

/// Several chunks per device with the backward split, in groups of g microbatches whose passes repeat every 3 g v
/// slots: the idle time of a zero-bubble schedule in the memory of 1F1B (g = p: v p stashes of a chunk) or down to
/// about half of it (g = p / 2: p (v + 1) / 2). With equal passes a device takes 3 v m + 2 (p - 1) + (p - g)(v - 1)
/// slots. `group=N` from ceil(p / 2) (more where the given costs of stages differ) to p, the default. `recompute=R`:
/// the first R chunks of every device keep only their inputs and run their forward again right before I, in an order
/// that does not look at it. Any p, m and v. (GIS: Wan et al., PipeOffload, arXiv 2503.01328, and its released code)
///
///   p = 2, v = 2, m = 2
///   d0: 0F0 0F1 2F0 2F1 2I0 2W0 2I1 2W1 0I0 0W0 0I1 0W1 0U0 2U0
///   d1: 1F0 1F1 3F0 3I0 3W0 3F1 3I1 3W1 1I0 1W0 1I1 1W1 1U0 3U0
Schedule gis(const ScheduleParams& params) {
  const std::int32_t chunks = gis_chunks(params);
  const std::int32_t p = params.num_devices;
  const GisOrder order = gis_order("gis", params, pass_costs(params, chunks * p));
  const std::int64_t updates = updates_or(params, 1);
  Schedule schedule = looped_schedule("gis", params, chunks, updates);
  schedule.parameters["group"] = order.group;
  if (order.recompute > 0) schedule.parameters["recompute"] = order.recompute;
  for (std::int32_t d = 0; d < p; ++d) {
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      order.write(d, params.num_microbatches, list);
      for (std::int32_t chunk = 0; chunk < chunks; ++chunk) list.add(StageId{chunk * p + d}, Op::kU, 0);
    }));
  }
  return schedule;
}

}  // namespace plumb
