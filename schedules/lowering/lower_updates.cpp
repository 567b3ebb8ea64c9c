#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "models/ground/error.hpp"
#include "schedules/document/walk.hpp"
#include "schedules/lowering/lower_state.hpp"

namespace plumb::lowering {
namespace {

/// What the document leaves to us for one holder.
struct Missing {
  std::uint32_t holder = 0;
  std::int64_t per_update = 1;
  bool update = false;
  bool reduce = false;
  std::vector<std::int64_t> left;  ///< by update: microbatches whose backward is still to come, and the document's own
                                   ///< reduction
  std::size_t reductions = 0;      ///< of the document, so far
};

/// Inserts U and REDUCE_GRAD into one device's actions.
///
/// REDUCE_GRAD stands right after the last backward (B or W) of the update, so that the reduction overlaps what
/// follows; U of a synchronous schedule after the last backward of the update on the device, of an asynchronous one at
/// once.
class Inserter {
 public:
  Inserter(const State& state, DeviceId device) : state_(state) {
    for (const std::uint32_t holder : state.holders_on[index(device)]) {
      const StageId stage = state.program.holders[holder].stage;
      Missing missing;
      missing.holder = holder;
      missing.per_update = state.schedule.per_update(stage);
      missing.update = true;
      missing.reduce = state.reduces_with[holder] != 0;
      missing_.push_back(std::move(missing));
    }
  }

  /// Takes note of what the document has, from the end, where updates stand; false when nothing is missing.
  bool look(const DeviceList& list) {
    for (std::size_t at = list.actions.size(); at-- > 0 && any_missing();) {
      const Action& action = list.actions[at];
      if (action.op != Op::kU && action.op != Op::kReduceGrad) continue;
      if (Missing* of = find(action)) (action.op == Op::kU ? of->update : of->reduce) = false;
    }
    return any_missing();
  }

  std::vector<Action> insert(const std::vector<Action>& actions) {
    for (const Action& action : actions) count(action, +1);
    for (Missing& of : missing_) of.reductions = 0;
    std::vector<Action> out;
    out.reserve(actions.size() + actions.size() / 8);
    for (const Action& action : actions) {
      out.push_back(action);
      count(action, -1);
      if (!action.overlaps_next) append_finished(out);
    }
    return out;
  }

 private:
  bool any_missing() const {
    return std::any_of(missing_.begin(), missing_.end(), [](const Missing& of) { return of.update || of.reduce; });
  }

  Missing* find(const Action& action) {
    for (Missing& of : missing_) {
      const Holder& holder = state_.program.holders[of.holder];
      if (holder.stage == action.stage && holder.replica == action.replica) return &of;
    }
    return nullptr;
  }

  /// Adds `step` to what is left for every microbatch whose backward `action` ends, and for a reduction.
  void count(const Action& action, std::int64_t step) {
    const bool reduces = action.op == Op::kReduceGrad;
    if (action.op != Op::kB && action.op != Op::kW && !reduces) return;
    Missing* of = find(action);
    if (of == nullptr) return;
    if (reduces) {
      count(*of, of->reductions++, step);
      return;
    }
    for (std::size_t i = 0; i <= action.merged; ++i) {
      count(*of, (index(action.microbatch) + i) / static_cast<std::size_t>(of->per_update), step);
    }
  }

  void count(Missing& of, std::size_t update, std::int64_t step) {
    if (update >= of.left.size()) of.left.resize(update + 1, 0);
    of.left[update] += step;
    if (step < 0 && of.left[update] == 0) finished_.emplace_back(&of, update);
  }

  /// Asynchronous: U right after the backward; otherwise after those of the whole device.
  bool at_once(const Missing& of, std::size_t update) const {
    const StageId stage = state_.program.holders[of.holder].stage;
    return state_.schedule.policy_of(stage, static_cast<std::int64_t>(update)) != WeightPolicy::kFlush;
  }

  /// A pair may end the last backwards of two holders at once: both reduce before either updates, since one may wait
  /// for the other, and the updates of a device stand there once.
  void append_finished(std::vector<Action>& out) {
    const auto finished = std::exchange(finished_, {});
    for (const auto& [of, update] : finished) {
      if (of->reduce) out.push_back(action_of(*of, Op::kReduceGrad, -1));
    }
    std::vector<std::size_t> appended;
    for (const auto& [of, update] : finished) {
      if (of->update && at_once(*of, update)) out.push_back(action_of(*of, Op::kU, static_cast<std::int32_t>(update)));
      if (at_once(*of, update) || !device_finished(update) || std::ranges::count(appended, update) != 0) continue;
      append_updates(out, static_cast<std::int32_t>(update));
      appended.push_back(update);
    }
  }

  bool device_finished(std::size_t update) const {
    for (const Missing& of : missing_) {
      if (!at_once(of, update) && update < of.left.size() && of.left[update] != 0) return false;
    }
    return true;
  }

  void append_updates(std::vector<Action>& out, std::int32_t update) const {
    for (const Missing& of : missing_) {
      if (of.update && !at_once(of, static_cast<std::size_t>(update))) out.push_back(action_of(of, Op::kU, update));
    }
  }

  Action action_of(const Missing& of, Op op, std::int32_t number) const {
    const Holder& holder = state_.program.holders[of.holder];
    Action action;
    action.stage = holder.stage;
    action.replica = holder.replica;
    action.op = op;
    action.microbatch = MicrobatchId{number};
    return action;
  }

  const State& state_;
  std::vector<Missing> missing_;
  std::vector<std::pair<Missing*, std::size_t>> finished_;
};

}  // namespace

bool lacks_updates(const State& state, DeviceId device) {
  return !state.schedule.forward_only && Inserter(state, device).look(state.schedule.devices[index(device)]);
}

std::optional<std::vector<Action>> with_updates(const State& state, DeviceId device) {
  if (state.schedule.forward_only) return std::nullopt;
  Inserter inserter(state, device);
  const DeviceList& list = state.schedule.devices[index(device)];
  const bool missing = inserter.look(list);
  if (!missing && !state.adds_validations) return std::nullopt;
  std::vector<Action> actions = expand(list);
  if (missing) actions = inserter.insert(actions);
  if (state.adds_validations) insert_validations(actions);
  return actions;
}

}  // namespace plumb::lowering
