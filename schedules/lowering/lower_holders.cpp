#include <cstddef>
#include <cstdint>

#include "schedules/lowering/lower_state.hpp"

namespace plumb::lowering {

void add_holders(State& state) {
  const Schedule& schedule = state.schedule;
  state.holders_on.resize(static_cast<std::size_t>(schedule.num_devices));
  for (std::size_t replica = 0; replica < schedule.placement.size(); ++replica) {
    for (std::int32_t stage = 0; stage < schedule.num_stages; ++stage) {
      state.first_holder.push_back(static_cast<std::uint32_t>(state.program.holders.size()));
      for (const DeviceId device : schedule.placement[replica][static_cast<std::size_t>(stage)]) {
        state.holders_on[index(device)].push_back(static_cast<std::uint32_t>(state.program.holders.size()));
        state.program.holders.push_back({ReplicaId{static_cast<std::int16_t>(replica)}, StageId{stage}, device});
      }
    }
  }
  const std::size_t holders = state.program.holders.size();
  state.first_holder.push_back(static_cast<std::uint32_t>(holders));
  state.reduces_with.assign(holders, 0);
  state.steps.resize(holders);
  if (schedule.forward_only) return;
  for (std::int32_t stage = 0; stage < schedule.num_stages; ++stage) {
    for (const auto& group : reduce_groups(state, StageId{stage})) {
      for (const std::uint32_t holder : group) ++state.reduces_with[holder];
    }
  }
  for (const TiedWeight& tied : state.costs.tied) {
    for (std::uint32_t holder = 0; tied.first != tied.second && holder < holders; ++holder) {
      const StageId stage = state.program.holders[holder].stage;
      if (stage == tied.first || stage == tied.second) ++state.reduces_with[holder];
    }
  }
}

}  // namespace plumb::lowering
