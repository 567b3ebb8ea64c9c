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

}  // namespace plumb::lowering
