#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/costs/time_limits.hpp"
#include "schedules/lowering/lower.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/written_schedule.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

StageCosts row_costs() {
  StageCosts costs;
  costs.times = {StageTimes{.f = 12, .b = 24, .i = 14, .w = 10, .r = 6, .u = 5, .x = 10}};
  return costs;
}

/// What the only pair of the list takes, and how much of it is no useful work.
struct Pair {
  Ticks time = 0;
  Ticks repeated = 0;

  friend bool operator==(const Pair&, const Pair&) = default;
};

Pair pair_of(const std::string& list, bool recompute = false, const StageCosts& costs = row_costs()) {
  Schedule schedule = written_schedule({list}, 4);
  if (recompute) schedule.recompute = {Recompute{}};
  const Program program = lower(schedule, costs);
  for (InstrIndex at = 0; at < program.size(); ++at) {
    if (program.instrs[at].action.overlaps_next == 0) continue;
    const auto repeated = [&](std::uint32_t row) {
      return row < program.folded_recompute.size() ? program.folded_recompute[row] : 0;
    };
    const std::uint32_t first = program.instrs[at].row;
    const std::uint32_t second = program.instrs[at + 1].row;
    CHECK(program.durations[second] == 0);
    CHECK(repeated(second) == 0);
    return {program.durations[first], repeated(first)};
  }
  return {};
}

}  // namespace

TEST_CASE("of a pair the recompute that is folded, and the share of recompute and extra work, are no useful work") {
  CHECK(pair_of("0F0 (0F1;0B0)OVERLAP_F_B") == Pair{12 + 24, 0});
  CHECK(pair_of("0F0 (0F1;0B0)OVERLAP_F_B", true) == Pair{12 + 24 + 6, 6});
  CHECK(pair_of("0F0 (0F1;0I0)OVERLAP_F_B", true) == Pair{12 + 14 + 6, 6});
  CHECK(pair_of("0F0 0I0 (0F1;0W0)OVERLAP", true) == Pair{12 + 10, 0});
  CHECK(pair_of("0F0 (0F1;0R0)OVERLAP") == Pair{12 + 6, 6});
  CHECK(pair_of("0F0 (0R0;0F1)OVERLAP") == Pair{12 + 6, 6});
  CHECK(pair_of("0F0 (0X0;0F1)OVERLAP") == Pair{10 + 12, 10});
  CHECK(pair_of("0F0 (0X0;0R0)OVERLAP") == Pair{10 + 6, 10 + 6});
  CHECK(pair_of("0F0 (0X0;0X1)OVERLAP") == Pair{20, 20});
  CHECK(pair_of("0F0 (0X0;0B0)OVERLAP", true) == Pair{10 + 24 + 6, 10 + 6});
  CHECK(pair_of("0F0+1 (0F2;0B0+1)OVERLAP_F_B", true) == Pair{12 + 2 * (24 + 6), 2 * 6});
}

TEST_CASE("a pair of a given time is recompute to the share that its halves have alone, and at most all of it") {
  StageCosts costs = row_costs();
  costs.times[0].pairs.ticks[PairTimes::place(0, 4)] = 9;  // F and R
  CHECK(pair_of("0F0 (0F1;0R0)OVERLAP", false, costs) == Pair{9, 3});
  costs.times[0].pairs.ticks[PairTimes::place(0, 4)] = 3;
  CHECK(pair_of("0F0 (0F1;0R0)OVERLAP", false, costs) == Pair{3, 1});
  costs.times[0].r = 100;
  costs.times[0].pairs.ticks[PairTimes::place(0, 1)] = 30;  // F and B
  CHECK(pair_of("0F0 (0F1;0B0)OVERLAP_F_B", true, costs) == Pair{30 + 100, 100});
}

TEST_CASE("folded recompute is noted with the row of a backward, and with no other") {
  Schedule schedule = written_schedule({"0F0 0F1 0B0 0I1 0W1"}, 2);
  schedule.recompute = {Recompute{}};
  const Program program = lower(schedule, row_costs());
  REQUIRE(program.folded_recompute.size() == program.rows.size());
  for (std::size_t row = 0; row < program.rows.size(); ++row) {
    CHECK(program.folded_recompute[row] == (is_backward(program.rows[row].op) ? 6 : 0));
  }
  schedule.recompute = {};
  CHECK(lower(schedule, row_costs()).folded_recompute.empty());
}

TEST_CASE("actions that are alike share a row, and others have one of their own") {
  const auto rows = [](const std::string& list, std::int64_t m) {
    return lower(written_schedule({list}, m), row_costs()).rows.size();
  };
  CHECK(rows("0F0 0F1 0B0 0B1 0U0", 2) == 3);
  CHECK(rows("0F0 0F1+2 0B0+1 0B2 0U0", 3) == 5);
  CHECK(rows("0F0 0F1+2 0F3+4 0B0 0B1+2 0B3+4 0U0", 5) == 5);
  CHECK(rows("0X0 0X1 0X0 0F0 0B0 0U0", 1) == 5);
  CHECK(rows("0F0 0R0 0F1 0R1 0B0 0B1 0U0", 2) == 4);
  CHECK(rows("0F0 0F1 (0F2;0B0)OVERLAP_F_B (0F3;0B1)OVERLAP_F_B 0B2 0B3 0U0", 4) == 3 + 2);
  CHECK(rows("0F0 0EVICT0@host 0F1 0EVICT1@host 0EVICT@host 0LOAD@host 0B1 0B0 0U0", 2) == 3 + 3);
}

TEST_CASE("an action takes at most a quarter of the longest run, on its device and with all that it does at once") {
  constexpr Ticks kMostAction = kMostRun / 4;
  const auto told = [](unsigned further, double speed) {
    StageCosts costs = row_costs();
    costs.times[0].f = kMostCost;
    Cluster cluster;
    cluster.devices.resize(1);
    cluster.devices[0].speed = speed;
    cluster.finish();
    Schedule schedule = written_schedule({"0F0"}, 128);
    schedule.devices[0].actions[0].merged = further & 127U;
    return error_message([&] { lower(schedule, costs, &cluster); });
  };
  const std::string refused =
      "an action takes 5.855e+17 ticks of the clock; expected at most 576460752303423488 (18 years at a tick per ns)";
  CHECK(told(0, 1) == "");
  CHECK(told(63, 1) == "");
  CHECK(told(64, 1) == refused);
  CHECK(told(0, 1.0 / 64) == "");
  CHECK(told(0, 1.0 / 65) == refused);
  CHECK(kMostAction == Ticks{64} * kMostCost);
}

}  // namespace plumb::testing

TEST_SUITE_END();
