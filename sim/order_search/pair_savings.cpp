#include "sim/order_search/pair_savings.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "schedules/lowering/pair_cost.hpp"

namespace plumb {
namespace {

Ticks time_alone(const StageTimes& times, Op op) {
  switch (op) {
    case Op::kF:
      return times.f;
    case Op::kB:
      return times.b;
    case Op::kI:
      return times.i;
    case Op::kW:
      return times.w;
    case Op::kR:
      return times.r;
    default:
      return 0;
  }
}

Ticks at_speed(Ticks time, double speed) {
  return speed == 1.0 ? time : std::llround(static_cast<double>(time) / speed);
}

}  // namespace

Ticks ticks_of_pair(const StageCosts& costs, PassInPair one, PassInPair other, double speed) {
  const auto half = [&](PassInPair pass) {
    lowering::PairHalf made = lowering::communication_half(costs.times[index(pass.stage)], pass.op, false);
    made.alone = pass.alone;
    made.comm = at_speed(made.comm, speed);
    made.uncovered = at_speed(made.uncovered, speed);
    return made;
  };
  const auto given = [&](PassInPair pass) {
    return lowering::given_pair_time(costs.times[index(pass.stage)].pairs, one.op, other.op);
  };
  std::optional<Ticks> time;
  if (given(one) > 0 && given(other) > 0) time = at_speed((given(one) + given(other)) / 2, speed);
  return lowering::pair_time(half(one), half(other), time);
}

Ticks saved_by_pair(const StageCosts& costs, const Action& one, const Action& other) {
  const auto pass = [&](const Action& action) {
    return PassInPair{action.stage, action.op, time_alone(costs.times[index(action.stage)], action.op)};
  };
  const PassInPair first = pass(one);
  const PassInPair second = pass(other);
  return first.alone + second.alone - ticks_of_pair(costs, first, second);
}

bool pairs_may_save(const StageCosts& costs) {
  return std::ranges::any_of(costs.times, [](const StageTimes& times) {
    const bool given = std::ranges::any_of(times.pairs.ticks, [](Ticks ticks) { return ticks > 0; });
    const Ticks communication = times.f_comm.all + times.b_comm.all + times.i_comm.all + times.w_comm.all;
    return given || communication > 0;
  });
}

bool has_overlapped_pairs(const Schedule& schedule) {
  return std::ranges::any_of(schedule.devices, [](const DeviceList& list) {
    return std::ranges::any_of(list.actions, [](const Action& action) { return action.overlaps_next != 0; });
  });
}

}  // namespace plumb
