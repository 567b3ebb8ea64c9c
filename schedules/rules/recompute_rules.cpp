#include "schedules/rules/recompute_rules.hpp"

#include <algorithm>

#include "schedules/document/walk.hpp"

namespace plumb {

RecomputeRules::RecomputeRules(const Schedule& schedule) : schedule_(schedule) {
  for (const DeviceList& list : schedule.devices) {
    any_explicit_ = any_explicit_ || std::any_of(list.actions.begin(), list.actions.end(),
                                                 [](const Action& action) { return action.op == Op::kR; });
  }
  if (any_explicit_) note_explicit();
  for (const Recompute& rule : schedule.recompute) {
    std::vector<bool>& named = named_.emplace_back();
    for (const std::int32_t microbatch : rule.microbatches) {
      const auto at = static_cast<std::size_t>(microbatch);
      if (at >= named.size()) named.resize(at + 1, false);
      named[at] = true;
    }
  }
}

bool RecomputeRules::applies(const Action& action) const {
  const bool moves_stash = is_move(action.op) && static_cast<std::int32_t>(action.microbatch) >= 0;
  if (action.op != Op::kF && !is_backward(action.op) && !moves_stash) return false;
  if (any_explicit_ && explicit_[place(action)]) return !is_backward(action.op);
  for (std::size_t rule = 0; rule < named_.size(); ++rule) {
    if (covers(rule, action)) return true;
  }
  return false;
}

bool RecomputeRules::agree(const Action& action) const {
  Action one = action;
  for (std::int32_t more = 0; more < action.merged; ++more) {
    one.microbatch = MicrobatchId{static_cast<std::int32_t>(one.microbatch) + 1};
    if (applies(one) != applies(action)) return false;
  }
  return true;
}

void RecomputeRules::note_explicit() {
  explicit_.assign(static_cast<std::size_t>(schedule_.num_stages * schedule_.num_microbatches), false);
  for (const DeviceList& list : schedule_.devices) {
    walk(list, [&](const Action& action) {
      for (std::size_t i = 0; action.op == Op::kR && i <= action.merged; ++i) explicit_[place(action) + i] = true;
    });
  }
}

bool RecomputeRules::covers(std::size_t number, const Action& action) const {
  const Recompute& rule = schedule_.recompute[number];
  const auto stage = static_cast<std::int32_t>(action.stage);
  if (stage < rule.first_stage || stage > rule.last_stage) return false;
  const auto microbatch = static_cast<std::int32_t>(action.microbatch);
  const std::int64_t per_update = schedule_.per_update(action.stage);
  if (rule.except_last_microbatch && microbatch % per_update == per_update - 1) return false;
  const std::vector<bool>& named = named_[number];
  return named.empty() || (index(action.microbatch) < named.size() && named[index(action.microbatch)]);
}

}  // namespace plumb
