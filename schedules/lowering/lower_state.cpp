#include "schedules/lowering/lower_state.hpp"

namespace plumb::lowering {

State::State(const Schedule& s, const StageCosts& c, const Cluster* cl, const LowerOptions& o)
    : schedule(s),
      costs(c),
      cluster(cl),
      options(o),
      rules(s),
      parts(s),
      part_costs(c, parts),
      producers(s.num_stages, s.num_microbatches, static_cast<std::int32_t>(parts.most_slices())) {}

Route State::route(DeviceId from, DeviceId to) const {
  if (!costs.comm) return cluster->route(from, to);
  Route route;
  route.latency_ns = (*costs.comm + costs.base.ticks_per_ns / 2) / costs.base.ticks_per_ns;
  return route;
}

}  // namespace plumb::lowering
