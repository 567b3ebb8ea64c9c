#include "schedules/lowering/pair_cost.hpp"

#include <string>

#include <doctest/doctest.h>

#include "models/sources/abstract_costs.hpp"
#include "schedules/lowering/lower.hpp"
#include "tests/support/written_schedule.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

constexpr std::int64_t kUnit = 1'000'000;  // ticks of one unit when one tick is a nanosecond

/// `list` on one device that holds one stage, or two where it names stage 1.
Schedule on_one_device(const std::string& list) {
  Schedule schedule = written_schedule({list}, 4);
  if (list.find("1F") == std::string::npos) return schedule;
  schedule.num_stages = 2;
  schedule.placement[0].push_back({DeviceId{0}});
  return schedule;
}

/// Ticks of the only pair; its second half takes none.
Ticks pair_ticks(const Schedule& schedule, const StageCosts& costs) {
  const Program program = lower(schedule, costs);
  for (InstrIndex at = 0; at < program.size(); ++at) {
    if (program.instrs[at].action.overlaps_next == 0) continue;
    CHECK(program.durations[program.instrs[at + 1].row] == 0);
    return program.durations[program.instrs[at].row];
  }
  return -1;
}

double pair_units(const std::string& list, const std::string& cost, bool recompute = false) {
  Schedule schedule = on_one_device(list);
  if (recompute) schedule.recompute = {Recompute{}};
  const StageCosts costs = abstract_costs(cost, "", {.num_stages = schedule.num_stages, .recompute = recompute});
  return static_cast<double>(pair_ticks(schedule, costs)) / static_cast<double>(kUnit);
}

}  // namespace

TEST_CASE("a given time belongs to two passes in either order, and never to extra work") {
  PairTimes pairs;
  for (std::size_t k = 0; k < pairs.ticks.size(); ++k) pairs.ticks[k] = static_cast<Ticks>(k + 1);
  for (std::size_t k = 0; k < kPairNames.size(); ++k) {
    const auto op = [&](std::size_t letter) { return static_cast<Op>(kPairedPasses.find(kPairNames[k][letter])); };
    CAPTURE(kPairNames[k]);
    CHECK(lowering::given_pair_time(pairs, op(0), op(1)) == static_cast<Ticks>(k + 1));
    CHECK(lowering::given_pair_time(pairs, op(1), op(0)) == static_cast<Ticks>(k + 1));
  }
  CHECK(lowering::given_pair_time(pairs, Op::kF, Op::kX) == 0);
  CHECK(lowering::given_pair_time(pairs, Op::kX, Op::kF) == 0);
}

TEST_CASE("a pair takes its computation, its communication or its longer half, whichever is longest") {
  using lowering::pair_time;
  // 10 alone of which 4 are uncovered communication of 6, and 20 of which 1 of 3: 6 + 19 of computation.
  CHECK(pair_time({.alone = 10, .comm = 6, .uncovered = 4}, {.alone = 20, .comm = 3, .uncovered = 1}, {}) == 25);
  CHECK(pair_time({.alone = 10, .comm = 30, .uncovered = 9}, {.alone = 10, .comm = 5, .uncovered = 4}, {}) == 35);
  CHECK(pair_time({.alone = 50, .comm = 30, .uncovered = 30}, {.alone = 10, .comm = 5, .uncovered = 5}, {}) == 50);
  CHECK(pair_time({.alone = 10, .comm = 5, .uncovered = 5}, {.alone = 50, .comm = 30, .uncovered = 30}, {}) == 50);
  CHECK(pair_time({.alone = 10, .recompute = 3}, {.alone = 10, .recompute = 4}, 12) == 12 + 3 + 4);
  StageTimes times;
  times.f_comm = {.all = 10, .shown = 1};
  times.b_comm = {.all = 20, .shown = 2};
  times.i_comm = {.all = 30, .shown = 3};
  times.w_comm = {.all = 40, .shown = 4};
  const auto half = [&](Op op, bool recompute) { return lowering::communication_half(times, op, recompute); };
  const auto is = [](const lowering::PairHalf& found, Ticks all, Ticks shown) {
    CHECK(found.comm == all);
    CHECK(found.uncovered == shown);
  };
  is(half(Op::kF, true), 10, 1);
  is(half(Op::kR, false), 10, 1);
  is(half(Op::kB, false), 20, 2);
  is(half(Op::kB, true), 30, 3);  // the forward again
  is(half(Op::kI, true), 40, 4);
  is(half(Op::kI, false), 30, 3);
  is(half(Op::kW, true), 40, 4);
  is(half(Op::kX, true), 0, 0);
}

TEST_CASE("without a key and without communication a pair of any two actions takes the sum of its halves") {
  const std::string cost = "F=1,I=2,W=4,R=8,X=16";
  CHECK(pair_units("(0F0;0F1)OVERLAP", cost) == 2);
  CHECK(pair_units("0F0 (0F1;0B0)OVERLAP_F_B", cost) == 7);
  CHECK(pair_units("0F0 (0F1;0I0)OVERLAP_F_B", cost) == 3);
  CHECK(pair_units("0F0 0I0 (0F1;0W0)OVERLAP", cost) == 5);
  CHECK(pair_units("0F0 0F1 (0B0;0B1)OVERLAP", cost) == 12);
  CHECK(pair_units("0F0 0F1 0I1 (0B0;0W1)OVERLAP", cost) == 10);
  CHECK(pair_units("0F0 0F1 0I1 (0I0;0W1)OVERLAP", cost) == 6);
  CHECK(pair_units("0F0 0F1 0I0 0I1 (0W0;0W1)OVERLAP", cost) == 8);
  CHECK(pair_units("0F0 (0X0;0F1)OVERLAP", cost) == 17);
  CHECK(pair_units("0F2+3 (0F0+1;1F2+3)OVERLAP", cost) == 4);
}

TEST_CASE("a key gives the time of its pair, in either order, on one stage and between two, and of no other") {
  CHECK(pair_units("(0F0;0F1)OVERLAP", "F=1,B=2,FF=1.5") == 1.5);
  CHECK(pair_units("0F0 (1F0;0F1)OVERLAP", "F=1,B=2,FF=1.5") == 1.5);
  CHECK(pair_units("0F0 0I0 (0F1;0W0)OVERLAP", "F=1,B=2,FW=1.25") == 1.25);
  CHECK(pair_units("0F0 0I0 (0W0;0F1)OVERLAP", "F=1,B=2,FW=1.25") == 1.25);
  CHECK(pair_units("0F0 (0B0;0F1)OVERLAP", "F=1,B=2,FB=2.5") == 2.5);
  CHECK(pair_units("0F0 (0F1;0I0)OVERLAP_F_B", "F=1,B=2,FB=2.5") == 2);
  CHECK(pair_units("0F0 (0F1;0I0)OVERLAP_F_B", "F=1,B=2,FI=1.75") == 1.75);
  CHECK(pair_units("(0F0+1;0F2)OVERLAP", "F=1,B=2,FF=1.5") == 3);
}

TEST_CASE("stages with different times of a pair take the mean, and the sum where one of them gives none") {
  const Schedule schedule = on_one_device("0F1 (0F0;1F1)OVERLAP");
  StageCosts costs;
  costs.times = {{.f = 10}, {.f = 20}};
  CHECK(pair_ticks(schedule, costs) == 30);
  costs.times[0].pairs.ticks[PairTimes::place(0, 0)] = 16;
  CHECK(pair_ticks(schedule, costs) == 30);
  costs.times[1].pairs.ticks[PairTimes::place(0, 0)] = 24;
  CHECK(pair_ticks(schedule, costs) == 20);
}

TEST_CASE("communication of one half runs beside the computation of the other") {
  const std::string cost = "F=1,I=1,W=1,F.comm=0.25,I.comm=0.25";
  CHECK(pair_units("(0F0;0F1)OVERLAP", cost) == 2);
  CHECK(pair_units("0F0 (0F1;0I0)OVERLAP_F_B", cost) == 2);
  CHECK(pair_units("0F0 (0F1;0B0)OVERLAP_F_B", cost) == 3);
  CHECK(pair_units("0F0 0I0 (0F1;0W0)OVERLAP", cost) == 2);
  // Both communications, one after the other, are longer than what is computed.
  CHECK(pair_units("(0F0;0F1)OVERLAP", "F=1,F.comm=3") == 6);
  // One half alone is longer than what the other could add.
  CHECK(pair_units("0F0 0I0 (0F1;0W0)OVERLAP", "F=1,I=1,W=0.5,F.comm=2") == 3);
  // The weight half of B covers 1 of 1.5; alone it takes 1 + 1.5.
  CHECK(pair_units("0F0 (0F1;0B0)OVERLAP_F_B", "F=0.25,I=1,W=1,I.comm=1.5") == 2.5);
}

TEST_CASE("folded recompute is added to the time that a key gives, and computed and communicated otherwise") {
  CHECK(pair_units("0F0 (0F1;0B0)OVERLAP_F_B", "F=1,B=2,FB=2.5", true) == 3.5);
  CHECK(pair_units("0F0 (0F1;0B0)OVERLAP_F_B", "F=1,B=2", true) == 4);
  CHECK(pair_units("0F0 (0F1;0B0)OVERLAP_F_B", "F=1,I=1,W=1,F.comm=0.25,I.comm=0.25", true) == 4);
}

}  // namespace plumb::testing

TEST_SUITE_END();
