#include "schedules/phases/phase_passes.hpp"

#include <algorithm>

#include "models/ground/error.hpp"
#include "schedules/catalogue/list_builder.hpp"

namespace plumb {

PhasePasses::PhasePasses(const PhaseFrame& frame, std::int32_t device)
    : frame_(frame),
      device_(device),
      chunks_(static_cast<std::size_t>(frame.copies) * static_cast<std::size_t>(frame.chunks)) {}

std::optional<Action> PhasePasses::take(const WantedPass& wanted, const std::string& where) {
  std::size_t place = wanted.chunk < 0 ? 0 : frame_.place(wanted.copy, wanted.chunk);
  Unit unit;
  if (wanted.op == Op::kF) {
    unit = forward(wanted, chunks_[place], where);
  } else if (wanted.op == Op::kW) {
    const Waiting one = weight(wanted, where);
    place = one.place;
    unit = one.unit;
  } else if (is_backward(wanted.op) || wanted.op == Op::kR) {
    Chunk& chunk = chunks_[place];
    const std::size_t at = next_kept(chunk, wanted, where);
    unit = chunk.kept[at];
    if (wanted.op == Op::kR) {
      chunk.kept[at].recomputed = true;
    } else {
      chunk.kept.erase(chunk.kept.begin() + static_cast<std::ptrdiff_t>(at));
      if (wanted.op == Op::kI) waiting_.push_back({place, unit});
    }
  } else {
    return without_microbatch(wanted, chunks_[place]);
  }
  const auto copy = static_cast<std::int32_t>(place / static_cast<std::size_t>(frame_.chunks));
  const auto chunk = static_cast<std::int64_t>(place % static_cast<std::size_t>(frame_.chunks));
  if (unit.number >= frame_.real[static_cast<std::size_t>(copy)]) return std::nullopt;
  Action action = ListBuilder::action(StageId{frame_.stage(copy, chunk, device_)}, wanted.op,
                                      microbatch_of(copy, unit.number), ReplicaId{static_cast<std::int16_t>(copy)});
  if (frame_.slices > 1) action.slice = static_cast<std::int16_t>(unit.slice);
  return action;
}

/// The slices of a microbatch go forward from the first to the last, and back from the last to the first.
PhasePasses::Unit PhasePasses::forward(const WantedPass& wanted, Chunk& chunk, const std::string& where) const {
  const Unit unit{.number = chunk.forwards / frame_.slices, .slice = chunk.forwards % frame_.slices};
  if (unit.number == frame_.written[static_cast<std::size_t>(wanted.copy)]) {
    fail(where, name_of(wanted) + " has all its forwards already");
  }
  ++chunk.forwards;
  if (unit.slice + 1 == frame_.slices && !frame_.forward_only) {
    for (std::int64_t slice = frame_.slices; slice-- > 0;) {
      chunk.kept.push_back({.number = unit.number, .slice = slice});
    }
  }
  return unit;
}

std::size_t PhasePasses::next_kept(const Chunk& chunk, const WantedPass& wanted, const std::string& where) const {
  const auto open = [&](std::size_t at) { return wanted.op != Op::kR || !chunk.kept[at].recomputed; };
  const std::size_t all = chunk.kept.size();
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < all && !found; ++i) {
    const std::size_t at = wanted.newest ? all - 1 - i : i;
    if (open(at)) found = at;
  }
  // Of the newest microbatch the first of its slices that is left here is the last one in the sequence.
  while (wanted.newest && found && *found > 0 && chunk.kept[*found - 1].number == chunk.kept[*found].number &&
         open(*found - 1)) {
    --*found;
  }
  if (found) return *found;
  fail(where, std::string(wanted.op == Op::kR ? "a recompute" : "a backward") + " of " + name_of(wanted) +
                  " has no forward before it");
}

PhasePasses::Waiting PhasePasses::weight(const WantedPass& wanted, const std::string& where) {
  auto found = waiting_.end();
  for (auto at = waiting_.begin(); at != waiting_.end(); ++at) {
    if (wanted.chunk >= 0 && at->place != frame_.place(wanted.copy, wanted.chunk)) continue;
    found = at;
    if (!wanted.newest) break;
  }
  if (found == waiting_.end()) fail(where, "no input gradient waits for its weight gradient");
  const Waiting one = *found;
  waiting_.erase(found);
  return one;
}

Action PhasePasses::without_microbatch(const WantedPass& wanted, Chunk& chunk) const {
  const std::int64_t number = wanted.op == Op::kU ? chunk.updates++ : -1;
  Action action = ListBuilder::action(StageId{frame_.stage(wanted.copy, wanted.chunk, device_)}, wanted.op, number,
                                      ReplicaId{static_cast<std::int16_t>(wanted.copy)});
  action.where = wanted.where;
  return action;
}

std::int64_t PhasePasses::microbatch_of(std::int32_t copy, std::int64_t number) const {
  if (!frame_.item) return number;
  WholeNames names = frame_.names;
  names["r"] = copy;
  names["i"] = number;
  const std::int64_t microbatch = whole_value(frame_.item.text, names, frame_.item.where);
  const std::int64_t all = frame_.names.at("m") * (frame_.whole ? frame_.updates : 1);
  if (microbatch >= 0 && microbatch < all) return microbatch;
  throw Error(frame_.item.where + ": " + frame_.item.text + " is " + std::to_string(microbatch) + " for r " +
              std::to_string(copy) + ", i " + std::to_string(number) + ", expected 0 to " + std::to_string(all - 1));
}

void PhasePasses::check_all(const std::string& where) const {
  for (std::int32_t copy = 0; copy < frame_.copies; ++copy) {
    for (std::int64_t chunk = 0; chunk < frame_.chunks; ++chunk) {
      if (!holds(copy, chunk)) continue;
      const Chunk& one = chunks_[frame_.place(copy, chunk)];
      const std::int64_t all = frame_.written[static_cast<std::size_t>(copy)] * frame_.slices;
      const std::int64_t missing = all - one.forwards;
      std::int64_t left = static_cast<std::int64_t>(one.kept.size());
      if (!frame_.forward_only) left += missing;
      if (missing == 0 && left == 0) continue;
      fail(where, name_of({.copy = copy, .chunk = chunk}) + " lacks " + std::to_string(missing) + " forwards and " +
                      std::to_string(left) + " backwards at the end");
    }
  }
  if (!waiting_.empty()) fail(where, std::to_string(waiting_.size()) + " weight gradients are missing at the end");
}

std::string PhasePasses::name_of(const WantedPass& wanted) const {
  return "chunk " + std::to_string(wanted.chunk) +
         (frame_.copies > 1 ? " of copy " + std::to_string(wanted.copy) : std::string());
}

void PhasePasses::fail(const std::string& where, const std::string& what) const {
  throw Error(where + ": device " + std::to_string(device_) + ": " + what);
}

}  // namespace plumb
