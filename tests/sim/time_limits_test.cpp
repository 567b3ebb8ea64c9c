#include <algorithm>
#include <array>
#include <random>
#include <string>

#include <doctest/doctest.h>

#include "models/costs/time_limits.hpp"
#include "models/ground/error.hpp"
#include "sim/critical_path.hpp"
#include "sim/simulate.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/simulated.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb::testing {
namespace {

__extension__ using Exact = __int128;

Schedule schedule_for(std::string_view name, std::int32_t p, std::int64_t m, std::int32_t chunks = 0) {
  return generate(name, {.num_devices = p, .num_microbatches = m, .chunks = chunks});
}

StageCosts same_costs(const Schedule& schedule, StageTimes times) {
  times.b = times.i + times.w;
  StageCosts costs;
  costs.times.assign(static_cast<std::size_t>(schedule.num_stages), times);
  costs.comm = 0;
  return costs;
}

/// All actions of a schedule without overlaps, recompute and replicas.
Exact sum_of_actions(const Schedule& schedule, const StageTimes& times) {
  const auto passes = static_cast<Exact>(schedule.num_stages) * schedule.num_microbatches;
  const Exact updates = static_cast<Exact>(schedule.num_stages) * (schedule.num_microbatches / schedule.per_update({}));
  return passes * (times.f + times.i + times.w) + updates * times.u;
}

std::string refusal(const Schedule& schedule, const StageCosts& costs) {
  return error_message([&] { simulate_summary(schedule, costs); });
}

}  // namespace

TEST_CASE("§1.5: costs times counts that no clock can hold are refused, with the sum and the limit") {
  const Schedule schedule = schedule_for("1f1b", 4, 100'000);
  const StageCosts costs = abstract_costs("F=1000000000,B=1", "", {.num_stages = 4});
  CHECK(refusal(schedule, costs) ==
        "schedule '1f1b': the actions, messages and collectives take 4e+20 ns together; expected at most 2.306e+18 ns "
        "(2^61 ticks of a ns)");
  const StageCosts thirds = abstract_costs("F=1000000000,B=1/3", "", {.num_stages = 4});
  CHECK(refusal(schedule, thirds) ==
        "schedule '1f1b': the actions, messages and collectives take 4e+20 ns together; expected at most 7.686e+17 ns "
        "(2^61 ticks of 1/3 ns)");
  CHECK(refusal(schedule_for("1f1b", 4, 2'000'000'000), costs).find("take 8e+24 ns together") != std::string::npos);
}

TEST_CASE(
    "§1.5: a run of exactly the longest time is told to the tick, and one more is refused, with and without a jump") {
  const Schedule shorter = schedule_for("gpipe", 1, 256);
  const Schedule longer = schedule_for("gpipe", 1, std::int64_t{1} << 30U);
  const StageCosts large = same_costs(shorter, {.f = kMostCost});
  const StageCosts many = same_costs(longer, {.f = Ticks{1} << 31U});
  CHECK(simulate(lower(shorter, large)).makespan == kMostRun);
  CHECK(simulate_summary(shorter, large).makespan == kMostRun);
  CHECK(simulate_summary(longer, many).makespan == kMostRun);
  CHECK(simulate_summary(longer, many).bubble_fraction == 0.0);
  StageCosts above = large;
  above.times[0].u = 1;
  CHECK(refusal(shorter, above).find("2^61") != std::string::npos);
  above = many;
  above.times[0].u = 1;
  CHECK(refusal(longer, above).find("2^61") != std::string::npos);
}

TEST_CASE("§1.5: costs that are too long by themselves are named, wherever they come from") {
  const Schedule schedule = schedule_for("1f1b", 2, 2);
  StageCosts costs = same_costs(schedule, {.f = 1, .i = 1, .w = 1});
  CHECK(refusal(schedule, costs).empty());
  costs.times[1].u = kMostCost + 1;
  CHECK(refusal(schedule, costs) ==
        "costs: U of stage 1 is 9007199254740993 ticks; expected at most 9007199254740992 (104 days at a tick per ns)");
  costs.times[1].u = -1;
  CHECK(refusal(schedule, costs) == "costs: U of stage 1 is -1 ticks; expected at least 0");
  costs.times[1].u = 0;
  Cluster slow;
  slow.devices.resize(2);
  slow.devices[1].speed = 1e-30;
  slow.devices_per_node = 2;
  slow.finish();
  const std::string message = error_message([&] { lower(schedule, costs, &slow); });
  CHECK(message.find("an action takes 1e+30 ticks of the clock") != std::string::npos);
}

TEST_CASE("§1.5: latencies and messages count") {
  const Schedule schedule = schedule_for("1f1b", 2, 300);  // 600 messages
  StageCosts costs = same_costs(schedule, {.f = 1, .i = 1, .w = 1});
  costs.comm = kMostCost;
  CHECK(refusal(schedule, costs).find("2^61") != std::string::npos);
  costs.comm = kMostCost / 4;
  CHECK(refusal(schedule, costs).empty());
  costs.comm.reset();
  costs.memory.resize(2);
  for (StageMemory& memory : costs.memory) memory.output_bytes = memory.input_grad_bytes = 1'000'000'000;
  Cluster cluster;
  cluster.devices.resize(2);
  cluster.devices_per_node = 2;
  cluster.intra_node = {.latency_ns = 0, .bytes_per_s = 1};  // a message takes 1e18 ns
  cluster.finish();
  CHECK(error_message([&] { lower(schedule, costs, &cluster); }).find("take 6e+20 ns together") != std::string::npos);
  cluster.intra_node.bytes_per_s = 1e9;
  CHECK(error_message([&] { lower(schedule, costs, &cluster); }).empty());
}

TEST_CASE("§1.5: what-if factors and jitter cannot leave the clock, either") {
  const Program program = program_of({.name = "1f1b", .p = 2, .m = 4, .cost = "F=1,B=2"});
  CHECK(makespan_if(program, {}, "F", 2.0) > 0);
  CHECK(error_message([&] { makespan_if(program, {}, "F", 1e300); }).find("2^61") != std::string::npos);
  const Schedule schedule = schedule_for("gpipe", 1, 100);
  StageCosts costs = same_costs(schedule, {.f = kMostCost});  // 0.39 of the longest run
  Cluster cluster;
  cluster.devices.resize(1);
  cluster.finish();
  CHECK(error_message([&] { lower(schedule, costs, &cluster); }).empty());
  cluster.devices[0].jitter = 1;
  CHECK(error_message([&] { lower(schedule, costs, &cluster); }).find("up to 4.5 times as long") != std::string::npos);
}

TEST_CASE(
    "§1.5: random costs are refused exactly when the sum of all actions is too long; others scale as whole numbers "
    "do") {
  std::mt19937_64 random(15);
  const auto pick = [&](std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most - least + 1));
  };
  constexpr std::array kNames{"gpipe", "1f1b", "interleaved", "zb-h1", "zb-v", "pipedream"};
  int refused = 0;
  int run = 0;
  for (int i = 0; i < 400; ++i) {
    CAPTURE(i);
    const std::string name = kNames[static_cast<std::size_t>(pick(0, kNames.size() - 1))];
    CAPTURE(name);
    const auto p = static_cast<std::int32_t>(pick(2, 4));
    const std::int64_t m = (i % 2 == 0 ? pick(1, 8) : pick(1000, 400'000'000)) * p;
    const Schedule schedule = generate(name, {.num_devices = p, .num_microbatches = m, .updates = 0});
    const StageTimes small{.f = pick(1, 9), .i = pick(1, 9), .w = pick(1, 9), .u = pick(0, 9)};
    const Exact sum = sum_of_actions(schedule, small);
    // Factors around the limit, and any.
    const auto most = static_cast<std::int64_t>(std::min<Exact>(kMostRun / sum, kMostCost / 9));
    const std::int64_t factor = std::max<std::int64_t>(1, i % 4 < 2 ? most + pick(-1, 1) : pick(1, kMostCost / 9));
    StageTimes large = small;
    for (Ticks* time : {&large.f, &large.i, &large.w, &large.u}) *time *= factor;
    const bool fits = sum * factor <= kMostRun && 18 * factor <= kMostCost;
    if (18 * factor > kMostCost) continue;  // a cost by itself
    const std::string message = refusal(schedule, same_costs(schedule, large));
    CAPTURE(message);
    REQUIRE(message.empty() == fits);
    ++(fits ? run : refused);
    if (!fits) continue;
    const Timeline expected = simulate_summary(schedule, same_costs(schedule, small));
    const Timeline found = simulate_summary(schedule, same_costs(schedule, large));
    CHECK(static_cast<Exact>(found.makespan) == static_cast<Exact>(expected.makespan) * factor);
    for (std::size_t d = 0; d < found.devices.size(); ++d) {
      CHECK(static_cast<Exact>(found.devices[d].busy) == static_cast<Exact>(expected.devices[d].busy) * factor);
      CHECK(static_cast<Exact>(found.devices[d].idle) == static_cast<Exact>(expected.devices[d].idle) * factor);
    }
    CHECK(found.bubble_fraction == doctest::Approx(expected.bubble_fraction));
    CHECK(found.bubble_fraction >= 0);
    CHECK(found.bubble_fraction < 1);
  }
  CHECK(run >= 100);
  CHECK(refused >= 50);
}

TEST_CASE("a stash of more units than 32 bits hold is counted in a summary as in a timeline") {
  const Case c{.name = "1f1b", .p = 4, .m = 8, .cost = "F=1,B=2", .memory = "F=3000000000,I=0,W=-3000000000"};
  const Timeline with_spans = simulated(c);
  const Timeline summary = simulated(c, {.spans = false, .memory_curve = false});
  for (std::size_t d = 0; d < 4; ++d) {
    CHECK(with_spans.devices[d].peak_activations == doctest::Approx(3e9 * static_cast<double>(4 - d)));
    CHECK(summary.devices[d].peak_activations == with_spans.devices[d].peak_activations);
  }
}

}  // namespace plumb::testing

TEST_SUITE_END();
