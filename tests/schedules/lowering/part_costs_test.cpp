#include "schedules/lowering/part_costs.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/costs/time_limits.hpp"
#include "tests/support/written_schedule.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

/// One microbatch in slices of these lengths.
PartTable cut(const std::vector<std::int64_t>& lengths) {
  Schedule schedule = written_schedule({"0F0"}, 1);
  schedule.slices = Slices{Slices::Axis::kSequence, {lengths}};
  return PartTable(schedule);
}

PartTable of_sizes(const std::vector<std::int64_t>& sizes) {
  Schedule schedule = written_schedule({"0F0"}, static_cast<std::int64_t>(sizes.size()));
  schedule.microbatch_sizes = sizes;
  return PartTable(schedule);
}

/// The smallest factor that makes all of `figures` multiples of `unit`, by trying.
std::int64_t least_factor(const std::vector<std::int64_t>& figures, std::int64_t unit) {
  std::int64_t factor = 1;
  while (!std::ranges::all_of(figures, [&](std::int64_t figure) { return figure * factor % unit == 0; })) ++factor;
  return factor;
}

StageCosts part_times(Ticks f, Ticks b) {
  StageCosts costs;
  costs.times = {StageTimes{.f = f, .b = b, .u = 11, .x = 13, .evict = 17, .load = 19, .all_reduce = 23}};
  return costs;
}

}  // namespace

TEST_CASE("times are counted in the largest unit in which all shares of slices and sizes are whole") {
  std::mt19937 random(7);
  for (int turn = 0; turn < 200; ++turn) {
    const auto f = static_cast<Ticks>(1 + random() % 30);
    const auto b = static_cast<Ticks>(1 + random() % 30);
    const auto one = static_cast<std::int64_t>(1 + random() % 5);
    const auto other = static_cast<std::int64_t>(1 + random() % 5);
    StageCosts costs = part_times(f, b);
    costs.comm = 29;
    costs.base.ticks_per_ns = 5;
    costs.times.push_back({.f = 2 * f, .w = 7});
    const bool sliced = turn % 2 == 0;
    const PartTable parts = sliced ? cut({one, other}) : of_sizes({one, other});
    CAPTURE(f);
    CAPTURE(b);
    CAPTURE(one);
    CAPTURE(other);
    if (parts.plain()) continue;
    const std::int64_t unit = sliced ? one + other : std::max(one, other);
    const std::int64_t factor = least_factor({f, b, 2 * f, 7}, parts.all()[0].whole * parts.all()[0].largest);
    CHECK(unit % parts.all()[0].whole == 0);
    const StageCosts whole = lowering::with_whole_shares(costs, parts);
    CHECK(whole.base.ticks_per_ns == 5 * factor);
    CHECK(*whole.comm == 29 * factor);
    CHECK(whole.times[0].f == f * factor);
    CHECK(whole.times[0].b == b * factor);
    CHECK(whole.times[0].u == 11 * factor);
    CHECK(whole.times[0].x == 13 * factor);
    CHECK(whole.times[0].evict == 17 * factor);
    CHECK(whole.times[0].load == 19 * factor);
    CHECK(whole.times[0].all_reduce == 23 * factor);
    CHECK(whole.times[1].w == 7 * factor);
  }
}

TEST_CASE("memory in abstract units is counted so that all shares are whole, bytes stay bytes") {
  StageCosts costs = part_times(6, 6);
  StageMemory memory{.input_bytes = 5};
  memory.stash = {{.name = "a", .bytes = 4}, {.name = "b", .bytes = 6}};
  costs.memory = {memory};
  CHECK(lowering::with_whole_shares(costs, cut({1, 2})).memory == costs.memory);
  costs.memory_units_per_one = 10;
  const StageCosts whole = lowering::with_whole_shares(costs, cut({1, 2}));
  CHECK(whole.memory_units_per_one == 30);
  CHECK(whole.memory[0].stash[0].bytes == 12);
  CHECK(whole.memory[0].stash[1].bytes == 18);
  CHECK(whole.base.ticks_per_ns == 1);  // thirds of 6 are whole
  CHECK(lowering::with_whole_shares(costs, cut({1})).memory_units_per_one == 10);
}

TEST_CASE("the unit stays as it is where it would be too small to count with") {
  const auto is_kept = [](StageCosts costs, const PartTable& parts) {
    return lowering::with_whole_shares(costs, parts).base.ticks_per_ns == costs.base.ticks_per_ns;
  };
  const PartTable thirds = cut({1, 2});
  CHECK_FALSE(is_kept(part_times(1, 1), thirds));
  StageCosts costs = part_times(1, 1);
  costs.comm = kMostCost / 3;
  CHECK_FALSE(is_kept(costs, thirds));
  costs.comm = kMostCost / 3 + 1;
  CHECK(is_kept(costs, thirds));
  costs = part_times(1, 1);
  costs.times[0].u = kMostCost / 3 + 1;
  CHECK(is_kept(costs, thirds));
  costs = part_times(1, 1);
  costs.base.ticks_per_ns = kMostCost / 3;
  CHECK_FALSE(is_kept(costs, thirds));
  costs.base.ticks_per_ns = kMostCost / 3 + 1;
  CHECK(is_kept(costs, thirds));
  const std::int64_t figure = std::int64_t{1} << 48;
  CHECK_FALSE(is_kept(part_times(figure / 3, 1), thirds));
  CHECK(is_kept(part_times(figure / 3 + 1, 1), thirds));
  costs = part_times(1, 1);
  costs.part = [](StageId, const Part&, const StageTimes& times) { return PartCosts{times, {}}; };
  CHECK(is_kept(costs, thirds));  // parts have costs of their own
}

TEST_CASE("declared amounts of extra work are whole in the unit that is chosen for them") {
  std::map<std::string, ExtraWork> extras;
  extras["X0"] = ExtraWork{.units = 0.25};
  extras["X1"] = ExtraWork{.units = 1.0 / 3};
  extras["X2"] = ExtraWork{.kind = ExtraWork::Kind::kTime, .units = 1.0 / 7, .time_ns = 5};
  for (Ticks x = 1; x <= 24; ++x) {
    StageCosts costs;
    costs.times = {StageTimes{.f = 2, .x = x}, StageTimes{.f = 3}};
    costs.comm = 5;
    const std::int64_t factor =
        std::lcm(std::int64_t{4} / std::gcd(std::int64_t{4}, x), std::int64_t{3} / std::gcd(std::int64_t{3}, x));
    const StageCosts whole = lowering::with_whole_extras(costs, extras);
    CAPTURE(x);
    CHECK(whole.base.ticks_per_ns == factor);
    CHECK(whole.times[0].x == x * factor);
    CHECK(whole.times[1].f == 3 * factor);
    CHECK(*whole.comm == 5 * factor);
    costs.from_network = true;
    CHECK(lowering::with_whole_extras(costs, extras).base.ticks_per_ns == 1);
  }
  StageCosts costs;
  costs.times = {StageTimes{.f = 2, .x = 1}};
  const auto is_kept = [&] {
    return lowering::with_whole_extras(costs, extras).base.ticks_per_ns == costs.base.ticks_per_ns;
  };
  const std::int64_t most = (std::int64_t{1} << 48) / 12;
  for (Ticks* time : {&costs.times[0].f, &costs.times[0].u, &costs.times[0].load}) {
    const Ticks before = *time;
    *time = most;
    CHECK_FALSE(is_kept());
    *time = most + 1;
    CHECK(is_kept());
    *time = before;
  }
  costs.comm = most;
  CHECK_FALSE(is_kept());
  costs.comm = most + 1;
  CHECK(is_kept());
  costs.comm = std::nullopt;
  costs.base.ticks_per_ns = kMostCost / 12;
  CHECK_FALSE(is_kept());
  costs.base.ticks_per_ns = kMostCost / 12 + 1;
  CHECK(is_kept());
}

TEST_CASE("every part of a stage costs its share, and the parts of a microbatch cost what it costs") {
  StageCosts costs = part_times(10, 20);
  StageMemory memory{
      .weight_bytes = 100, .input_bytes = 50, .output_bytes = 30, .output_grad_bytes = 20, .input_grad_bytes = 40};
  memory.stash = {{.name = "a", .bytes = 70}};
  costs.memory = {memory, memory};
  costs.times.push_back(costs.times[0]);
  costs.times[1].f = 40;
  const PartTable parts = cut({1, 4});
  const lowering::PartCostTable table(costs, parts);
  CHECK(table.at(StageId{0}, 0).times.f == 2);
  CHECK(table.at(StageId{0}, 1).times.f == 8);
  CHECK(table.at(StageId{1}, 0).times.f == 8);
  CHECK(table.at(StageId{1}, 1).times.f == 32);
  CHECK(table.at(StageId{0}, 1).times.b == 16);
  CHECK(table.at(StageId{0}, 1).times.u == 11);  // not counted by microbatch
  CHECK(table.memory().size() == 4);
  StageMemory sum;
  for (std::size_t part = 0; part < 2; ++part) lowering::add_memory(sum, table.at(StageId{1}, part).memory);
  CHECK(sum == memory);
  CHECK(table.at(StageId{0}, 0).memory.stash[0].bytes == 14);
  CHECK(table.at(StageId{0}, 0).memory.weight_bytes == 100);
  CHECK(lowering::PartCostTable(costs, cut({1})).memory().empty());
}

}  // namespace plumb::testing

TEST_SUITE_END();
