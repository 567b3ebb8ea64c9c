#include "schedules/phases/phase_passes.hpp"

#include <algorithm>
#include <limits>

#include "models/ground/error.hpp"
#include "schedules/catalogue/list_builder.hpp"

namespace plumb {
namespace {

/// Runs empty at the ends.
template <class Runs>
void drop_empty(Runs& runs) {
  while (!runs.empty() && runs.front().size() == 0) runs.pop_front();
  while (!runs.empty() && runs.back().size() == 0) runs.pop_back();
}

}  // namespace

PhasePasses::PhasePasses(const PhaseFrame& frame)
    : frame_(frame), chunks_(static_cast<std::size_t>(frame.copies) * static_cast<std::size_t>(frame.chunks)) {}

void PhasePasses::begin(std::int32_t device) {
  device_ = device;
  left_over_ = 0;
  depth_ = 0;
  for (Chunk& chunk : chunks_) {
    chunk.taken = {};
    chunk.recomputed = 0;
    chunk.kept.clear();
    chunk.waiting.clear();
  }
}

std::optional<Action> PhasePasses::take(const WantedPass& wanted, const std::string& where) {
  std::size_t place = wanted.chunk < 0 ? 0 : frame_.place(wanted.copy, wanted.chunk);
  if (wanted.chunk >= 0) touch(place);
  std::int64_t number = 0;
  if (wanted.op == Op::kF) {
    number = forward(wanted, chunks_[place], where);
  } else if (wanted.op == Op::kW) {
    number = weight(wanted, place, where);
  } else if (is_backward(wanted.op)) {
    number = backward(wanted, chunks_[place], where);
  } else if (wanted.op == Op::kR) {
    number = recompute(wanted, chunks_[place], where);
  } else {
    return without_microbatch(wanted, chunks_[place]);
  }
  std::int32_t copy = wanted.copy;
  std::int64_t chunk = wanted.chunk;
  if (chunk < 0) {
    copy = static_cast<std::int32_t>(place / static_cast<std::size_t>(frame_.chunks));
    chunk = static_cast<std::int64_t>(place % static_cast<std::size_t>(frame_.chunks));
  }
  const std::int64_t microbatch = frame_.slices == 1 ? number : number / frame_.slices;
  if (microbatch >= frame_.real[static_cast<std::size_t>(copy)]) return std::nullopt;
  Action action = ListBuilder::action(StageId{frame_.stage(copy, chunk, device_)}, wanted.op,
                                      microbatch_of(copy, microbatch), ReplicaId{static_cast<std::int16_t>(copy)});
  if (frame_.sliced) {
    const std::int64_t slice = number % frame_.slices;
    action.slice = static_cast<std::int16_t>(wanted.op == Op::kF ? slice : frame_.slices - 1 - slice);
  }
  return action;
}

std::int64_t PhasePasses::forward(const WantedPass& wanted, Chunk& chunk, const std::string& where) const {
  const std::int64_t number = chunk.taken.forwards;
  if (number == frame_.written[static_cast<std::size_t>(wanted.copy)] * frame_.slices) {
    fail(where, name_of(wanted) + " has all its forwards already");
  }
  ++chunk.taken.forwards;
  if (chunk.taken.forwards != whole(chunk.taken.forwards) || frame_.forward_only) return number;
  const std::int64_t end = chunk.taken.forwards;
  if (!chunk.kept.empty() && chunk.kept.back().end == end - frame_.slices) {
    chunk.kept.back().end = end;
  } else {
    chunk.kept.push_back({end - frame_.slices, end});
  }
  return number;
}

std::int64_t PhasePasses::backward(const WantedPass& wanted, Chunk& chunk, const std::string& where) {
  if (chunk.kept.empty()) fail(where, "a backward of " + name_of(wanted) + " has no forward before it");
  std::int64_t number = 0;
  if (!wanted.newest) {
    Run& run = chunk.kept.front();
    number = run.begin++;
    if (run.size() == 0) chunk.kept.pop_front();
    ++chunk.taken.oldest;
  } else {
    // Of the newest microbatch the first of its slices that is left here is the last one in the sequence.
    Run& run = chunk.kept.back();
    number = std::max(run.begin, whole(run.end - 1));
    const Run rest{number + 1, run.end};
    run.end = number;
    if (run.size() == 0) chunk.kept.pop_back();
    if (rest.size() > 0) chunk.kept.push_back(rest);
    ++chunk.taken.newest;
  }
  if (wanted.op == Op::kI) leave_weight(chunk, number);
  return number;
}

void PhasePasses::leave_weight(Chunk& chunk, std::int64_t number) {
  ++chunk.taken.inputs;
  const std::int64_t since = left_over_++;
  if (!chunk.waiting.empty()) {
    Waiting& run = chunk.waiting.back();
    const std::int64_t step = number - run.first;
    const bool begins = run.count == 1 && (step == 1 || step == -1);
    if (begins) {
      run.step = step;
      run.apart = since - run.since;
    }
    if (begins || (step == run.count * run.step && since == run.since + run.count * run.apart)) {
      ++run.count;
      return;
    }
  }
  chunk.waiting.push_back({.first = number, .step = 1, .count = 1, .since = since, .apart = 1});
}

/// `count` more behind the last one, each as long after the one before it.
void PhasePasses::leave_weights(Chunk& chunk, std::int64_t count, std::int64_t apart) {
  Waiting& last = chunk.waiting.back();
  if (last.count == 1) {
    last.step = 1;
    last.apart = apart;
  }
  if (last.apart == apart) {
    last.count += count;
    return;
  }
  const std::int64_t number = last.first + last.count * last.step;
  const std::int64_t since = last.since + (last.count - 1) * last.apart + apart;
  chunk.waiting.push_back({.first = number, .step = last.step, .count = count, .since = since, .apart = apart});
}

std::int64_t PhasePasses::recompute(const WantedPass& wanted, Chunk& chunk, const std::string& where) const {
  for (const Run& run : chunk.kept) {
    const std::int64_t number = std::max(run.begin, chunk.recomputed);
    if (number >= run.end) continue;
    chunk.recomputed = number + 1;
    ++chunk.taken.recomputes;
    return number;
  }
  fail(where, "a recompute of " + name_of(wanted) + " has no forward before it");
}

std::int64_t PhasePasses::weight(const WantedPass& wanted, std::size_t& place, const std::string& where) {
  if (wanted.chunk < 0) {
    std::int64_t longest = std::numeric_limits<std::int64_t>::max();
    for (std::size_t one = 0; one < chunks_.size(); ++one) {
      const std::deque<Waiting>& waiting = chunks_[one].waiting;
      if (waiting.empty()) continue;
      const Waiting& run = wanted.newest ? waiting.back() : waiting.front();
      const std::int64_t since = run.since + (wanted.newest ? (run.count - 1) * run.apart : 0);
      const std::int64_t order = wanted.newest ? -since : since;
      if (order >= longest) continue;
      longest = order;
      place = one;
    }
  }
  touch(place);
  Chunk& chunk = chunks_[place];
  if (chunk.waiting.empty()) fail(where, "no input gradient waits for its weight gradient");
  ++chunk.taken.weights;
  if (wanted.chunk < 0) ++chunk.taken.weights_of_any;
  if (wanted.newest) ++chunk.taken.newest_weights;
  Waiting& run = wanted.newest ? chunk.waiting.back() : chunk.waiting.front();
  const std::int64_t number = run.first + (wanted.newest ? (run.count - 1) * run.step : 0);
  if (!wanted.newest) {
    run.first += run.step;
    run.since += run.apart;
  }
  --run.count;
  drop_empty(chunk.waiting);
  return number;
}

Action PhasePasses::without_microbatch(const WantedPass& wanted, Chunk& chunk) const {
  const std::int64_t number = wanted.op == Op::kU ? chunk.taken.updates++ : -1;
  Action action = ListBuilder::action(StageId{frame_.stage(wanted.copy, wanted.chunk, device_)}, wanted.op, number,
                                      ReplicaId{static_cast<std::int16_t>(wanted.copy)});
  action.where = wanted.where;
  return action;
}

std::int64_t PhasePasses::next_backward(std::int32_t copy, std::int64_t chunk, bool newest) const {
  const Chunk& one = chunks_[frame_.place(copy, chunk)];
  if (one.kept.empty()) return -1;
  return (newest ? one.kept.back().end - 1 : one.kept.front().begin) / frame_.slices;
}

PhasePasses::Stand PhasePasses::stand_of(const Chunk& chunk) const {
  Stand stand{.taken = chunk.taken};
  const std::int64_t next = next_kept(chunk);
  stand.even = chunk.kept.empty() || (chunk.kept.size() == 1 && chunk.kept.front().end == next);
  stand.first = stand.last = next;
  if (!chunk.kept.empty()) {
    stand.front = chunk.kept.front().size();
    stand.back = chunk.kept.back().size();
    stand.first = chunk.kept.front().begin;
    stand.last = chunk.kept.back().end;
  }
  if (!chunk.waiting.empty()) stand.waiting = chunk.waiting.front().count;
  // The next input gradient leaves the number that follows the last one that waits.
  std::int64_t number = chunk.waiting.empty() ? stand.first : chunk.waiting.front().first;
  stand.waits_even = true;
  for (const Waiting& run : chunk.waiting) {
    stand.waits_even = stand.waits_even && run.first == number && (run.step == 1 || run.count == 1);
    number = run.first + run.count;
  }
  stand.waits_even = stand.waits_even && number == stand.first;
  return stand;
}

void PhasePasses::begin_turn() {
  if (depth_ == turns_.size())
    turns_.push_back(
        {.since = 0, .before = std::vector<Stand>(chunks_.size()), .taken = std::vector<Taken>(chunks_.size())});
  turns_[depth_++].since = ++time_;
}

void PhasePasses::touch(std::size_t place) {
  Chunk& chunk = chunks_[place];
  if (depth_ == 0 || chunk.touched >= turns_[depth_ - 1].since) return;
  const Stand stand = stand_of(chunk);
  for (std::size_t turn = depth_; turn > 0 && chunk.touched < turns_[turn - 1].since; --turn) {
    turns_[turn - 1].before[place] = stand;
  }
  chunk.touched = time_;
}

namespace {

PhasePasses::Taken operator-(const PhasePasses::Taken& a, const PhasePasses::Taken& b) {
  return {.forwards = a.forwards - b.forwards,
          .oldest = a.oldest - b.oldest,
          .newest = a.newest - b.newest,
          .inputs = a.inputs - b.inputs,
          .weights = a.weights - b.weights,
          .weights_of_any = a.weights_of_any - b.weights_of_any,
          .newest_weights = a.newest_weights - b.newest_weights,
          .recomputes = a.recomputes - b.recomputes,
          .updates = a.updates - b.updates};
}

}  // namespace

PhasePasses::Taken PhasePasses::taken_in_turn(std::size_t place) const {
  const Turn& turn = turns_[depth_ - 1];
  const Chunk& chunk = chunks_[place];
  return chunk.touched < turn.since ? Taken{} : chunk.taken - turn.before[place].taken;
}

/// Looks at the chunks after a turn, one after the other.
class PhasePasses::TurnCheck {
 public:
  TurnCheck(const PhasePasses& passes, std::int64_t most)
      : passes_(passes),
        frame_(passes.frame_),
        before_(passes.turns_[passes.depth_ - 1].before),
        taken_(passes.turns_[passes.depth_ - 1].taken),
        skip_{.turns = most, .advance = {}} {}

  Skip check() {
    for (std::size_t place = 0; place < before_.size() && skip_.turns > 0; ++place) {
      const Chunk& chunk = passes_.chunks_[place];
      const Taken& turn = taken_[place];
      if (turn == Taken{}) continue;
      const Stand now = passes_.stand_of(chunk);
      inputs_ += turn.inputs;
      if (turn.inputs > 0) ++places_with_inputs_;
      several_inputs_ = several_inputs_ || (turn.inputs > 1 && turn.weights == 0);
      place_of(place, now, turn);
    }
    if (several_inputs_ && places_with_inputs_ > 1) refuse();  // their order comes from the turn
    weights_of_any();
    if (moved_ == 0 && updates_ == 0) return {};
    if (moved_ != 0 && !frame_.stride) return {};
    const std::int64_t stride = frame_.stride.value_or(0);
    if (in_slices_) {
      skip_.advance.slice = static_cast<std::int32_t>(slices_moved_);
    } else {
      skip_.advance.microbatch = static_cast<std::int32_t>(moved_ / frame_.slices * stride);
    }
    const std::int64_t every = frame_.update_every;
    if (updates_ == 0 && every > 0 && moved_ % every == 0) updates_ = moved_ / every;
    skip_.advance.update = static_cast<std::int32_t>(updates_);
    return skip_;
  }

 private:
  void refuse() { skip_.turns = 0; }
  void limit(std::int64_t turns) { skip_.turns = std::clamp<std::int64_t>(turns, 0, skip_.turns); }

  /// All passes of a turn move by the same number.
  void moves(std::int64_t by) {
    if (moved_ != 0 && moved_ != by) refuse();
    moved_ = by;
  }

  void place_of(std::size_t place, const Stand& now, const Taken& turn) {
    const Stand& before = before_[place];
    const std::size_t copy = place / static_cast<std::size_t>(frame_.chunks);
    if (frame_.written[copy] != frame_.real[copy]) return refuse();
    if (turn.forwards > 0) {
      moves(turn.forwards);
      limit((frame_.written[copy] * frame_.slices - now.taken.forwards) / turn.forwards);
    }
    if (turn.inputs > 0 && turn.inputs != turn.oldest) refuse();
    if (turn.oldest > 0) oldest(before, now, turn);
    if (turn.newest > 0) newest(before, now, turn);
    if (turn.weights > 0) weights(before, now, turn);
    if (turn.recomputes > 0) recomputes(place, turn);
    if (turn.updates > 0) {
      if (updates_ != 0 && updates_ != turn.updates) refuse();
      updates_ = turn.updates;
    }
    slices(before, turn);
  }

  void oldest(const Stand& before, const Stand& now, const Taken& turn) {
    if (turn.newest > 0) return refuse();
    moves(turn.oldest);
    if (turn.forwards > 0) {
      if (!before.even || !now.even) refuse();
    } else {
      if (before.front < turn.oldest) refuse();
      limit(now.front / turn.oldest);
    }
  }

  void newest(const Stand& before, const Stand& now, const Taken& turn) {
    if (turn.forwards > 0 || before.back < turn.newest || turn.inputs != 0) return refuse();
    const bool whole = turn.newest % frame_.slices == 0;
    moves(whole ? -turn.newest : turn.newest);
    limit(now.back / turn.newest);
  }

  void weights(const Stand& before, const Stand& now, const Taken& turn) {
    if (turn.newest_weights > 0) return refuse();
    any_ = any_ || turn.weights_of_any > 0;
    ++places_with_weights_;
    if (turn.inputs > 0) {
      if (turn.newest > 0 || !before.waits_even || !now.waits_even) return refuse();
      return moves(turn.weights);
    }
    if (before.waiting < turn.weights) return refuse();
    const std::deque<Waiting>& waiting = passes_.chunks_[static_cast<std::size_t>(&before - before_.data())].waiting;
    const std::int64_t step = waiting.empty() ? 1 : waiting.front().step;
    moves(step * turn.weights);
    limit(before.waiting == turn.weights ? 0 : now.waiting / turn.weights);
  }

  void recomputes(std::size_t place, const Taken& turn) {
    const Chunk& chunk = passes_.chunks_[place];
    moves(turn.recomputes);
    if (chunk.kept.size() > 1 || turn.newest > 0) return refuse();
    if (!chunk.kept.empty() && chunk.recomputed < chunk.kept.front().begin) refuse();
    if (turn.forwards == 0)
      limit(chunk.kept.empty() ? 0 : (chunk.kept.front().end - chunk.recomputed) / turn.recomputes);
  }

  /// W without a chunk takes what has waited longest: certain only where one chunk is all that has weight gradients.
  void weights_of_any() {
    if (!any_) return;
    std::size_t waiting = 0;
    for (const Chunk& chunk : passes_.chunks_) waiting += chunk.waiting.empty() ? 0 : 1;
    const bool alone = places_with_weights_ == 1 && waiting <= 1 && places_with_inputs_ <= 1;
    if (!alone || (inputs_ > 0 && waiting_elsewhere())) limit_by_age();
  }

  bool waiting_elsewhere() const {
    for (std::size_t place = 0; place < before_.size(); ++place) {
      const bool waits = !passes_.chunks_[place].waiting.empty();
      const Taken& turn = taken_[place];
      if (waits && turn.weights == 0) return true;
      if (turn.inputs > 0 && turn.weights == 0) return true;
    }
    return false;
  }

  /// As far as the oldest run alone goes.
  void limit_by_age() {
    if (places_with_weights_ != 1 || inputs_ > 0) return refuse();
    const Chunk* oldest = nullptr;
    std::int64_t others = std::numeric_limits<std::int64_t>::max();
    std::int64_t each = 0;
    for (std::size_t place = 0; place < before_.size(); ++place) {
      const Chunk& chunk = passes_.chunks_[place];
      const Taken& turn = taken_[place];
      if (turn.weights > 0) {
        oldest = &chunk;
        each = turn.weights;
      } else if (!chunk.waiting.empty()) {
        others = std::min(others, chunk.waiting.front().since);
      }
    }
    if (oldest == nullptr || oldest->waiting.empty()) return refuse();
    const Waiting& run = oldest->waiting.front();
    if (run.since > others) return refuse();
    limit(std::min(run.count, (others - 1 - run.since) / run.apart + 1) / each);
  }

  /// Where turns take less than a microbatch they end with it.
  void slices(const Stand& before, const Taken& turn) {
    const std::int64_t of = frame_.slices;
    if (of == 1) return;
    const std::int64_t backs = turn.oldest + turn.newest;
    const bool whole = turn.forwards % of == 0 && backs % of == 0 && turn.weights % of == 0;
    if (whole) return;
    if (turn.forwards > 0 && backs + turn.weights > 0) return refuse();
    if (turn.weights > 0 || turn.recomputes > 0) return refuse();
    const std::int64_t begin = turn.forwards > 0 ? before.taken.forwards
                               : turn.newest > 0 ? first_of_newest(before)
                                                 : before.first;
    const std::int64_t each = turn.forwards + backs;
    const std::int64_t step = backs > 0 ? -each : each;
    if (in_slices_ && slices_moved_ != step) refuse();
    in_slices_ = true;
    slices_moved_ = step;
    limit((of - begin % of) / each - 1);
  }

  std::int64_t first_of_newest(const Stand& before) const {
    return std::max(before.last - before.back, passes_.whole(before.last - 1));
  }

  const PhasePasses& passes_;
  const PhaseFrame& frame_;
  const std::vector<Stand>& before_;
  const std::vector<Taken>& taken_;
  Skip skip_;
  std::int64_t moved_ = 0;
  std::int64_t slices_moved_ = 0;
  std::int64_t updates_ = 0;
  std::int64_t inputs_ = 0;
  int places_with_inputs_ = 0;
  int places_with_weights_ = 0;
  bool several_inputs_ = false;
  bool any_ = false;
  bool in_slices_ = false;
};

PhasePasses::Skip PhasePasses::skippable(std::int64_t most) {
  for (std::size_t place = 0; place < chunks_.size(); ++place) turns_[depth_ - 1].taken[place] = taken_in_turn(place);
  return TurnCheck(*this, most).check();
}

/// `gained`: what the forwards of these turns keep.
void PhasePasses::skip_kept(Chunk& chunk, const Taken& turn, std::int64_t turns, std::int64_t gained) {
  if (chunk.kept.empty()) {  // what a turn keeps it takes, or the last slice of a microbatch is through
    if (turn.oldest == 0 && gained > 0) chunk.kept.push_back({next_kept(chunk) - gained, next_kept(chunk)});
    return;
  }
  if (turn.newest > 0) {
    take_newest_slices(chunk, turn.newest * turns);
    return;
  }
  chunk.kept.front().begin += turn.oldest * turns;
  if (gained > 0 && chunk.kept.back().end == next_kept(chunk) - gained) {
    chunk.kept.back().end += gained;
  } else if (gained > 0) {
    chunk.kept.push_back({next_kept(chunk) - gained, next_kept(chunk)});
  }
  drop_empty(chunk.kept);
}

/// Of the newest microbatches, or the first slices of the newest one that are left.
void PhasePasses::take_newest_slices(Chunk& chunk, std::int64_t count) const {
  Run& run = chunk.kept.back();
  if (count % frame_.slices == 0) {
    run.end -= count;
  } else {
    const std::int64_t first = std::max(run.begin, whole(run.end - 1));
    const Run rest{first + count, run.end};
    run.end = first;
    drop_empty(chunk.kept);
    if (rest.size() > 0) chunk.kept.push_back(rest);
  }
  drop_empty(chunk.kept);
}

void PhasePasses::skip(std::int64_t turns) {
  const std::vector<Taken>& taken = turns_[depth_ - 1].taken;
  std::int64_t all_inputs = 0;
  for (const Taken& turn : taken) all_inputs += turn.inputs;
  for (std::size_t place = 0; place < chunks_.size(); ++place) {
    Chunk& chunk = chunks_[place];
    const Taken& turn = taken[place];
    if (turn == Taken{}) continue;
    const std::int64_t kept = next_kept(chunk);
    chunk.taken.forwards += turn.forwards * turns;
    const std::int64_t gained = frame_.forward_only ? 0 : next_kept(chunk) - kept;
    skip_kept(chunk, turn, turns, gained);
    if (turn.recomputes > 0) chunk.recomputed += turn.recomputes * turns;
    if (turn.weights > 0 && turn.inputs > 0) {
      for (Waiting& run : chunk.waiting) {
        run.first += turn.weights * turns;
        run.since += all_inputs * turns;
      }
    } else if (turn.weights > 0) {
      Waiting& run = chunk.waiting.front();
      run.first += run.step * turn.weights * turns;
      run.since += run.apart * turn.weights * turns;
      run.count -= turn.weights * turns;
    } else if (turn.inputs > 0) {
      leave_weights(chunk, turn.inputs * turns, turn.inputs == 1 ? all_inputs : 1);
    }
    drop_empty(chunk.waiting);
    chunk.taken.oldest += turn.oldest * turns;
    chunk.taken.newest += turn.newest * turns;
    chunk.taken.inputs += turn.inputs * turns;
    chunk.taken.weights += turn.weights * turns;
    chunk.taken.weights_of_any += turn.weights_of_any * turns;
    chunk.taken.newest_weights += turn.newest_weights * turns;
    chunk.taken.recomputes += turn.recomputes * turns;
    chunk.taken.updates += turn.updates * turns;
  }
  left_over_ += all_inputs * turns;
}
std::int64_t PhasePasses::microbatch_of(std::int32_t copy, std::int64_t number) const {
  if (!frame_.item) return number;
  if (frame_.stride) return frame_.first[static_cast<std::size_t>(copy)] + number * *frame_.stride;
  WholeNames names = frame_.names;
  names.set(index(RuleName::kR), copy);
  names.set(index(RuleName::kI), number);
  const std::int64_t microbatch = frame_.item.expression.value(names, frame_.item.where);
  const std::int64_t all = *names.find(index(RuleName::kM)) * (frame_.whole ? frame_.updates : 1);
  if (microbatch >= 0 && microbatch < all) return microbatch;
  throw Error(frame_.item.where + ": " + frame_.item.expression.text() + " is " + std::to_string(microbatch) +
              " for r " + std::to_string(copy) + ", i " + std::to_string(number) + ", expected 0 to " +
              std::to_string(all - 1));
}

void PhasePasses::check_all(const std::string& where) const {
  for (std::int32_t copy = 0; copy < frame_.copies; ++copy) {
    for (std::int64_t chunk = 0; chunk < frame_.chunks; ++chunk) {
      if (!holds(copy, chunk)) continue;
      const Chunk& one = chunks_[frame_.place(copy, chunk)];
      const std::int64_t all = frame_.written[static_cast<std::size_t>(copy)] * frame_.slices;
      const std::int64_t missing = all - one.taken.forwards;
      std::int64_t left = 0;
      for (const Run& run : one.kept) left += run.size();
      if (!frame_.forward_only) left += missing;
      if (missing == 0 && left == 0) continue;
      fail(where, name_of({.copy = copy, .chunk = chunk}) + " lacks " + std::to_string(missing) + " forwards and " +
                      std::to_string(left) + " backwards at the end");
    }
  }
  std::int64_t waiting = 0;
  for (const Chunk& one : chunks_) waiting += one.taken.inputs - one.taken.weights;
  if (waiting > 0) fail(where, std::to_string(waiting) + " weight gradients are missing at the end");
}

std::string PhasePasses::name_of(const WantedPass& wanted) const {
  return "chunk " + std::to_string(wanted.chunk) +
         (frame_.copies > 1 ? " of copy " + std::to_string(wanted.copy) : std::string());
}

void PhasePasses::fail(const std::string& where, const std::string& what) const {
  throw Error(where + ": device " + std::to_string(device_) + ": " + what);
}

}  // namespace plumb
