#include <algorithm>
#include <cstddef>
#include <vector>

#include "models/ground/error.hpp"
#include "schedules/lowering/lower_state.hpp"

namespace plumb::lowering {
namespace {

bool has_validation(const DeviceList& list) {
  return std::ranges::any_of(list.actions, [](const Action& action) { return action.op == Op::kV; });
}

/// By update: the instr of an op of one lane; `last`: the last one, otherwise the first one.
std::vector<InstrIndex> steps_of(const Program& program, std::size_t device, Op op, bool last) {
  std::vector<InstrIndex> steps;
  for (InstrIndex at = program.lane_begin[device]; at < program.lane_begin[device + 1]; ++at) {
    const Action& action = program.instrs[at].action;
    if (action.op != op) continue;
    const std::size_t update = index(action.microbatch);
    if (update >= steps.size()) {
      steps.resize(update + 1, at);
    } else if (last) {
      steps[update] = at;
    }
  }
  return steps;
}

}  // namespace

void note_validations(State& state) {
  const Schedule& schedule = state.schedule;
  state.validates = std::ranges::any_of(schedule.devices, has_validation);
  if (!state.options.global_norm || state.validates) return;
  if (state.program.asynchronous) {
    throw Error("schedule '" + schedule.name +
                "': a global norm of the gradients makes every update wait for all stages; expected a synchronous "
                "schedule");
  }
  state.adds_validations = state.validates = !schedule.forward_only;
}

void insert_validations(std::vector<Action>& actions) {
  std::vector<std::size_t> last;  // by update: where its last U stands
  for (std::size_t at = 0; at < actions.size(); ++at) {
    if (actions[at].op != Op::kU) continue;
    const std::size_t update = index(actions[at].microbatch);
    if (update >= last.size()) last.resize(update + 1, at);
    last[update] = at;
  }
  std::vector<Action> with;
  std::vector<std::vector<Action>> updates(last.size());
  for (std::size_t at = 0; at < actions.size(); ++at) {
    with.push_back(actions[at]);
    if (actions[at].op != Op::kU) continue;
    const std::size_t update = index(actions[at].microbatch);
    updates[update].push_back(actions[at]);
    if (last[update] != at) continue;
    for (Action& validation : updates[update]) validation.op = Op::kV;
    with.insert(with.end(), updates[update].begin(), updates[update].end());
  }
  actions = std::move(with);
}

void find_validation_waits(State& state) {
  const auto devices = static_cast<std::size_t>(state.program.num_devices);
  std::vector<std::vector<InstrIndex>> updates;
  for (std::size_t device = 0; device < devices; ++device) {
    updates.push_back(steps_of(state.program, device, Op::kU, true));
  }
  for (std::size_t device = 0; device < devices; ++device) {
    const std::vector<InstrIndex> validations = steps_of(state.program, device, Op::kV, false);
    for (std::size_t update = 0; update < validations.size(); ++update) {
      for (std::size_t other = 0; other < devices; ++other) {
        if (other == device || update >= updates[other].size()) continue;
        state.validation_waits.emplace_back(validations[update], updates[other][update]);
      }
    }
  }
}

void keep_for_rollback(State& state) {
  Program& program = state.program;
  std::vector<InstrIndex> last_update(program.holders.size());
  std::vector<std::int32_t> updates(program.holders.size(), 0);
  for (InstrIndex at = 0; at < program.size(); ++at) {
    const Row& row = program.rows[program.instrs[at].row];
    if (row.op == Op::kU) {
      last_update[row.holder] = at;
      ++updates[row.holder];
    } else if (row.op == Op::kV && row.recompute) {
      program.kept_versions.push_back({row.holder, updates[row.holder] - 1, last_update[row.holder], at, true});
    }
  }
}

}  // namespace plumb::lowering
