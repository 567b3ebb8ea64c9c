#include "schedules/lowering/row_table.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>

#include "models/costs/time_limits.hpp"
#include "models/ground/error.hpp"
#include "schedules/document/schedule_io.hpp"

namespace plumb::lowering {
namespace {

/// Longer actions could not even be added up in a pair.
constexpr Ticks kMostAction = kMostRun / 4;

[[noreturn]] void refuse_duration(double ticks) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", ticks);
  throw Error(std::string("an action takes ") + text + " ticks of the clock; expected at most " +
              std::to_string(kMostAction) + " (18 years at a tick per ns)");
}

/// Adds the time of a further part of an action.
void add_time(Ticks& sum, Ticks more) {
  if (more > kMostAction - sum) refuse_duration(static_cast<double>(sum) + static_cast<double>(more));
  sum += more;
}

/// Time of one action of one microbatch at speed 1. A recomputed stash costs the backward another forward.
Ticks time_of(const StageTimes& times, Op op, bool recompute) {
  const Ticks again = recompute ? times.r : 0;
  switch (op) {
    case Op::kF:
      return times.f;
    case Op::kB:
      return times.b + again;
    case Op::kI:
      return times.i + again;
    case Op::kW:
      return times.w;
    case Op::kR:
      return times.r;
    case Op::kU:
      return times.u;
    case Op::kX:
      return times.x;
    default:
      return 0;
  }
}

bool is_move_of_weights(const Action& action) {
  return is_move(action.op) && static_cast<std::int32_t>(action.microbatch) < 0;
}

/// Names microbatches.
bool works_on_parts(const Action& action) {
  return action.op <= Op::kR || (is_move(action.op) && !is_move_of_weights(action));
}

/// What X<n> does: declared under `extras` as "X<n>", one unit otherwise.
ExtraWork work_of(const Schedule& schedule, MicrobatchId number) {
  const auto found = schedule.extras.find("X" + std::to_string(static_cast<std::int32_t>(number)));
  return found == schedule.extras.end() ? ExtraWork{} : found->second;
}

}  // namespace

RowTable::RowTable(State& state)
    : state_(state),
      plain_parts_(state.parts.plain()),
      stages_(static_cast<std::size_t>(state.schedule.num_stages)),
      local_(state.first_holder.size() - 1, 0) {}

void RowTable::begin_device(DeviceId device) {
  const auto place = [&](std::uint32_t holder) -> std::uint32_t& {
    const Holder& of = state_.program.holders[holder];
    return local_[index(of.replica) * stages_ + index(of.stage)];
  };
  for (const std::uint32_t holder : holders_) place(holder) = 0;
  device_ = device;
  holders_ = state_.holders_on[index(device)];
  for (std::uint32_t i = 0; i < holders_.size(); ++i) place(holders_[i]) = i + 1;
  last_ = kNowhere;
  plain_.assign(holders_.size() * kOpCount * 2, 0);
  rare_.clear();
  pairs_.clear();
  speed_ = state_.program.device_specs.empty() ? 1.0 : state_.program.device_specs[index(device)].speed;
}

Ticks RowTable::on_device(Ticks at_speed_one) const {
  const double slowed = static_cast<double>(at_speed_one) / speed_;
  const bool fits = slowed <= static_cast<double>(kMostAction);
  if (!fits) refuse_duration(slowed);
  return speed_ == 1.0 ? at_speed_one : std::llround(slowed);
}

std::uint32_t RowTable::add_row(const Action& action, bool recompute) {
  const bool on_parts = works_on_parts(action);
  const StageTimes times = on_parts ? times_of_all(action) : state_.costs.times[index(action.stage)];
  const bool extra = action.op == Op::kX;
  const ExtraWork work = extra ? work_of(state_.schedule, action.microbatch) : ExtraWork{};
  const Ticks time = extra ? extra_time(work, state_.costs, action.stage) : time_of(times, action.op, recompute);
  Row row;
  row.holder = holder_of(action);
  row.op = action.op;
  row.recompute = recompute;
  row.microbatches = is_move_of_weights(action) ? 0 : static_cast<std::uint8_t>(action.merged + 1);
  if (on_parts && !plain_parts_ && !state_.costs.memory.empty()) row.sum = add_sum(action);
  if (work.kind == ExtraWork::Kind::kTeacher) {
    if (static_cast<double>(work.first_microbatch) + work.units >
        static_cast<double>(state_.schedule.num_microbatches)) {
      throw CannotRun(to_string(action) + ": a teacher's forward of microbatches out of range; expected 0 to " +
                      std::to_string(state_.schedule.num_microbatches - 1));
    }
    row.taught = static_cast<std::int32_t>(work.first_microbatch);
    row.microbatches = static_cast<std::uint8_t>(work.units);
    state_.program.has_teacher = true;
  }
  state_.program.rows.push_back(row);
  state_.program.durations.push_back(on_device(time));
  note_recompute(row.recompute && is_backward(row.op) ? on_device(times.r) : 0);
  note_pairs(row, action.merged == 0 ? times.pairs : PairTimes{}, times);
  return static_cast<std::uint32_t>(state_.program.rows.size() - 1);
}

/// Keeps `pairs_of_` as long as `rows`; after the row's duration and recompute are known.
void RowTable::note_pairs(const Row& row, const PairTimes& given, const StageTimes& times) {
  pairs_of_.resize(state_.program.rows.size());
  const PairHalf half = communication_half(times, row.op, row.recompute);
  const auto at = static_cast<std::uint32_t>(pairs_of_.size() - 1);
  pairs_of_.back() = {
      given, {state_.program.durations[at], recompute_part(at), on_device(half.comm), on_device(half.uncovered)}};
}

/// Keeps `folded_recompute` as long as `rows`, or empty as long as no row has any.
void RowTable::note_recompute(Ticks part) {
  std::vector<Ticks>& parts = state_.program.folded_recompute;
  if (part == 0 && parts.empty()) return;
  parts.resize(state_.program.rows.size(), 0);
  parts.back() = part;
}

/// Equal for actions whose parts are alike. Merged microbatches may differ from each other.
std::size_t RowTable::likeness(const Action& action) const {
  if (action.op == Op::kX) return index(action.microbatch);
  if (is_move_of_weights(action)) return static_cast<std::size_t>(-1);
  if (!works_on_parts(action) || state_.parts.kinds() == 1) return 0;
  return action.merged != 0 ? index(action.microbatch) : state_.parts.kind(index(action.microbatch));
}

/// Times of an action on everything that it names.
StageTimes RowTable::times_of_all(const Action& action) const {
  StageTimes sum;
  state_.parts.for_each(action, [&](std::size_t, std::size_t, std::size_t part) {
    StageTimes one =
        plain_parts_ ? state_.costs.times[index(action.stage)] : state_.part_costs.at(action.stage, part).times;
    const std::vector<Ticks*> sums = times_per_microbatch(sum);
    const std::vector<Ticks*> terms = times_per_microbatch(one);
    for (std::size_t i = 0; i < sums.size(); ++i) add_time(*sums[i], *terms[i]);
  });
  return sum;
}

std::uint32_t RowTable::add_sum(const Action& action) {
  StageMemory sum;
  state_.parts.for_each(action, [&](std::size_t, std::size_t, std::size_t part) {
    add_memory(sum, state_.part_costs.at(action.stage, part).memory);
  });
  state_.program.sums.push_back(std::move(sum));
  return static_cast<std::uint32_t>(state_.program.sums.size() - 1);
}

std::uint32_t RowTable::rare_row(const Action& action, bool recompute) {
  const RareKey key{holder_of(action), action.op, recompute, action.merged, likeness(action), action.slice};
  const auto found = rare_.find(key);
  if (found != rare_.end()) return found->second;
  return rare_[key] = add_row(action, recompute);
}

Ticks RowTable::recompute_part(std::uint32_t row) const {
  const std::vector<Ticks>& parts = state_.program.folded_recompute;
  return row < parts.size() ? parts[row] : 0;
}

Ticks RowTable::pair_duration(std::uint32_t first, std::uint32_t second) const {
  const Op one = state_.program.rows[first].op;
  const Op other = state_.program.rows[second].op;
  const Ticks given_first = given_pair_time(pairs_of_[first].given, one, other);
  const Ticks given_second = given_pair_time(pairs_of_[second].given, one, other);
  std::optional<Ticks> given;
  if (given_first != 0 && given_second != 0) given = on_device((given_first + given_second + 1) / 2);
  return pair_time(pairs_of_[first].half, pairs_of_[second].half, given);
}

/// The part of a pair that is recompute or extra work: what is folded, and the share of a half that is nothing else.
Ticks RowTable::not_useful_part(std::uint32_t first, std::uint32_t second, Ticks pair) const {
  Ticks folded = 0;
  Ticks repeated = 0;
  Ticks both = 0;
  for (const std::uint32_t row : {first, second}) {
    const Op op = state_.program.rows[row].op;
    const Ticks alone = state_.program.durations[row];
    folded += recompute_part(row);
    repeated += op == Op::kR || op == Op::kX ? alone : 0;
    both += alone;
  }
  if (repeated == 0) return std::min(pair, folded);
  const double share = static_cast<double>(repeated) / static_cast<double>(both);
  return std::min<Ticks>(pair, folded + std::llround(share * static_cast<double>(pair)));
}

std::pair<std::uint32_t, std::uint32_t> RowTable::pair_rows(std::uint32_t first, std::uint32_t second) {
  const auto found = pairs_.find({first, second});
  if (found != pairs_.end()) return found->second;
  Program& program = state_.program;
  const auto rows = static_cast<std::uint32_t>(program.rows.size());
  Row leading = program.rows[first];
  leading.overlapped = true;
  program.rows.push_back(leading);
  program.durations.push_back(pair_duration(first, second));
  note_recompute(not_useful_part(first, second, program.durations.back()));
  const Row following = program.rows[second];
  program.rows.push_back(following);
  program.durations.push_back(0);
  note_recompute(0);
  pairs_of_.resize(program.rows.size());
  return pairs_[{first, second}] = {rows, rows + 1};
}

void RowTable::throw_not_held(const Action& action) const {
  throw CannotRun("device " + std::to_string(index(device_)) + ": " + to_string(action) +
                  ": expected an action of a stage that the device holds");
}

}  // namespace plumb::lowering
