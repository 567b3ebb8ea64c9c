#include "schedules/catalogue/zero_bubble/offload_plan.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace plumb {
namespace {

/// When the stash that `backward` reads must be back, with the time of one backward to spare.
Ticks needed(const ListTimes::Span& backward) { return backward.start - (backward.end - backward.start); }

}  // namespace

OffloadPlan::OffloadPlan(const DeviceSpans& spans, const DeviceStashes& stashes, CopyTimes copies, Ticks phase)
    : spans_(spans), stashes_(stashes), copies_(copies), phase_(phase), leaves_(stashes.count(), false) {
  choose_stashes();
  while (!try_moves()) moves_.clear();
}

/// Those for which it is long enough from forward to backward.
void OffloadPlan::choose_stashes() {
  constexpr Ticks kWorthwhile = 6;  // copies that must fit in between
  std::vector<Ticks> forward_end(stashes_.count());
  for (const auto& [action, start, end] : spans_) {
    if (stashes_.chunk(action) >= stashes_.offloaded_chunks) continue;
    if (action.op == Op::kF) forward_end[stashes_.number(action)] = end;
    if (action.op != Op::kI) continue;
    const Ticks length = end - start;
    const std::size_t stash = stashes_.number(action);
    leaves_[stash] = start - length - forward_end[stash] > kWorthwhile * copies_.both_ways;
  }
}

/// False when a stash would have to come back before it is gone; it stays then.
bool OffloadPlan::try_moves() {
  const Ticks copy = copies_.both_ways;
  // The first turn at `time` or later.
  const auto next_turn = [&](Ticks slot, Ticks time) {
    return slot >= time ? slot : slot + (time - slot + 2 * copy - 1) / (2 * copy) * (2 * copy);
  };
  std::vector<Ticks> gone(stashes_.count());
  Ticks slot = phase_;
  for (const ListTimes::Span& span : spans_) {
    if (span.action.op != Op::kF || !leaves_[stashes_.number(span.action)]) continue;
    slot = next_turn(slot, span.end);
    moves_.push_back({slot, span.end, &span, true});
    gone[stashes_.number(span.action)] = slot + copy;
    slot += 2 * copy;
  }
  slot = next_turn(slot, spans_.back().end);
  bool possible = true;
  for (auto span = spans_.rbegin(); span != spans_.rend(); ++span) {  // the latest turn in time, from the end
    if (span->action.op != Op::kI || !leaves_[stashes_.number(span->action)]) continue;
    const Ticks late = slot - needed(*span);
    if (late > 0) slot -= (late + 2 * copy - 1) / (2 * copy) * (2 * copy);
    if (slot - copy <= gone[stashes_.number(span->action)]) {
      possible = false;
      leaves_[stashes_.number(span->action)] = false;
    }
    moves_.push_back({slot - copy, slot - copy, &*span, false});
    slot -= 2 * copy;
  }
  return possible;
}

/// Until the first stash comes back, those that go out need not take turns with it, only with those of the partner.
std::vector<OffloadPlan::Move> OffloadPlan::moves_in_turns() const {
  std::vector<Move> moves = moves_;
  Ticks first_back = spans_.back().end;
  for (const Move& move : moves) {
    if (!move.out) first_back = std::min(first_back, move.start);
  }
  Ticks free = 0;
  for (Move& move : moves) {
    if (!move.out) continue;
    const Ticks earlier = std::max(free, move.possible);
    if (earlier < move.start && earlier + copies_.both_ways <= first_back) move.start = earlier;
    free = move.start + 2 * copies_.solo;
  }
  return moves;
}

std::vector<Action> OffloadPlan::in_turns() const { return with(moves_in_turns()); }

std::int64_t OffloadPlan::most_kept_in_turns() const {
  std::vector<Ticks> gone;
  std::vector<Ticks> back;
  for (const Move& move : moves_in_turns()) {
    move.out ? gone.push_back(move.start + copies_.both_ways) : back.push_back(move.start);
  }
  std::ranges::sort(back);
  auto next_gone = gone.begin();
  auto next_back = back.begin();
  std::int64_t kept = 0;
  std::int64_t most = 0;
  for (const auto& [action, start, end] : spans_) {
    for (; next_gone != gone.end() && *next_gone <= start; ++next_gone) --kept;
    for (; next_back != back.end() && *next_back < end; ++next_back) most = std::max(most, ++kept);
    if (action.op == Op::kF) most = std::max(most, ++kept);
    if (action.op == Op::kW) --kept;
  }
  return most;
}

std::vector<Action> OffloadPlan::closely() const {
  std::vector<Move> moves = moves_;
  auto span = spans_.begin();
  Ticks out_again = 0;
  Ticks back_by = std::numeric_limits<Ticks>::max();
  for (Move& move : moves) {  // those out by time, then those back from the last one on
    if (move.out) {
      while (span != spans_.end() && span->start < std::max(out_again, move.possible)) ++span;
      move.start = span != spans_.end() ? span->start : std::max(out_again, move.possible);
      out_again = move.start + copies_.both_ways;
    } else {
      move.start = std::min(back_by, needed(*move.of)) - copies_.both_ways;
      back_by = move.start;
    }
  }
  return with(std::move(moves));
}

/// What goes out is written after the action that is over when it starts, what comes back before the action that runs
/// then, so that it is not late.
std::vector<Action> OffloadPlan::with(std::vector<Move> moves) const {
  std::stable_sort(moves.begin(), moves.end(), [](const Move& a, const Move& b) {
    return std::make_tuple(a.start, !a.out) < std::make_tuple(b.start, !b.out);
  });
  std::vector<Action> actions;
  actions.reserve(spans_.size() + moves.size());
  auto next = moves.begin();
  for (const auto& [action, start, end] : spans_) {
    for (; next != moves.end() && (next->out ? next->start <= start : next->start < end); ++next) {
      Action move;
      move.op = next->out ? Op::kEvict : Op::kLoad;
      move.stage = next->of->action.stage;
      move.microbatch = next->of->action.microbatch;
      move.where = Action::kHost;
      actions.push_back(move);
    }
    actions.push_back(action);
  }
  return actions;
}

std::int64_t most_kept(const std::vector<Action>& actions) {
  std::int64_t kept = 0;
  std::int64_t most = 0;
  const Action* leaving = nullptr;
  for (const Action& action : actions) {
    const bool back = leaving != nullptr && action.op == Op::kLoad && action.stage == leaving->stage &&
                      action.microbatch == leaving->microbatch;
    if (leaving != nullptr && (back || action.op == Op::kEvict)) {
      --kept;
      leaving = nullptr;
    }
    if (action.op == Op::kEvict) leaving = &action;
    if (action.op == Op::kW) --kept;
    if (action.op == Op::kF || action.op == Op::kLoad) most = std::max(most, ++kept);
  }
  return most;
}

}  // namespace plumb
