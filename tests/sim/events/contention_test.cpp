#include <doctest/doctest.h>

#include <array>
#include <numeric>
#include <random>

#include "schedules/catalogue/registry.hpp"
#include "schedules/lowering/lower.hpp"
#include "schedules/program/program_text.hpp"
#include "sim/events/compute_share.hpp"
#include "sim/events/event_engine.hpp"
#include "sim/timeline/timeline_io.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/program_builder.hpp"
#include "tests/support/random_program.hpp"
#include "tests/support/reference_engine.hpp"

TEST_SUITE_BEGIN("sim");

using namespace plumb;
using plumb::testing::ProgramBuilder;
using plumb::testing::run_tick_by_tick;

namespace {

constexpr LoadSet kForward = set_of(Load::kF);

Contention slowed_by(LoadSet of, LoadSet by, std::vector<double> gamma) {
  Contention contention;
  contention.slowdowns.push_back({of, by, std::move(gamma)});
  return contention;
}

/// All devices in one node.
Program contended(const ProgramBuilder& builder, Contention contention) {
  Program program = builder.build();
  program.contention = std::move(contention);
  program.devices_per_node = program.num_devices;
  return program;
}

std::vector<Ticks> ends(const Program& program) {
  const auto times = run_events(program, {});
  REQUIRE(times.has_value());
  return times->end;
}

using Ends = std::vector<Ticks>;

ProgramBuilder lanes(const ProgramBuilder::Lanes& durations) { return ProgramBuilder(durations); }

/// Random loads, curves, slowdowns and clock.
class RandomContention {
 public:
  explicit RandomContention(std::uint64_t seed) : random_(seed) {}

  void put_into(Program& program) {
    constexpr std::array kOps{Op::kF, Op::kB, Op::kI, Op::kW, Op::kU, Op::kX};
    for (Row& row : program.rows) {
      if (row.op == Op::kF) row.op = kOps[pick(kOps.size())];
    }
    program.devices_per_node = static_cast<std::int32_t>(1 + pick(static_cast<std::size_t>(program.num_devices)));
    Contention& contention = program.contention;
    for (std::size_t k = 0; k < 1 + pick(3); ++k) {
      Slowdown& slowdown = contention.slowdowns.emplace_back();
      slowdown.of = 1 + static_cast<LoadSet>(pick((1U << kComputeLoads) - 1));
      slowdown.by = 1 + static_cast<LoadSet>(pick((1U << kLoadCount) - 1));
      for (std::size_t n = 0; n < 1 + pick(4); ++n) slowdown.gamma.push_back(0.05 * static_cast<double>(pick(20)));
    }
    if (pick(2) == 0) contention.message_share = 0.07 * static_cast<double>(pick(8));
    if (pick(2) == 0) contention.collective_share = 0.11 * static_cast<double>(pick(8));
    if (pick(2) == 0) put_clock(contention.clock.emplace());
  }

 private:
  std::size_t pick(std::size_t below) { return random_() % below; }

  void put_clock(ClockModel& clock) {
    clock.per_device = pick(2) == 0;
    for (double& load : clock.load) load = 0.5 * static_cast<double>(pick(4));
    double load = 0;
    for (std::size_t k = 0; k < 1 + pick(3); ++k) {
      clock.points.push_back({load += 0.5 * static_cast<double>(1 + pick(4)), 0.1 * static_cast<double>(1 + pick(10))});
    }
    clock.period_ns = static_cast<std::int64_t>(pick(4)) * 3;
    clock.gain = 0.25 * static_cast<double>(1 + pick(4));
  }

  std::mt19937_64 random_;
};

}  // namespace

TEST_CASE("two actions under way at once each take as much longer as their curve says") {
  CHECK(ends(contended(lanes({{100}, {100}}), slowed_by(kForward, kForward, {0.25}))) == Ends{125, 125});
}

TEST_CASE("an action goes on faster once the other one is over") {
  // Both at 0.8 until the shorter one has done its 50: 62.5, to the nearest tick upwards. The longer one has done 50.4
  // of its 100 by then.
  CHECK(ends(contended(lanes({{100}, {50}}), slowed_by(kForward, kForward, {0.25}))) == Ends{113, 63});
}

TEST_CASE("an action that begins later slows the one under way from then on") {
  ProgramBuilder builder = lanes({{100}, {30, 50}});
  // d1 alone has nothing to wait for: forwards of 30 and 50 in a row, both beside the 100 of d0.
  CHECK(ends(contended(builder, slowed_by(kForward, kForward, {1}))) == Ends{180, 60, 160});
}

TEST_CASE("a slowdown goes one way when only one kind of action feels it") {
  Program program = contended(lanes({{40}, {100}}), slowed_by(set_of(Load::kW), kForward, {0.5}));
  program.rows[1].op = Op::kW;
  // Two thirds of the speed until 40, 26.67 done; the rest alone.
  CHECK(ends(program) == Ends{40, 113});
}

TEST_CASE("the curve is read at the number of others, and is constant after its last point") {
  const ProgramBuilder four = lanes({{130}, {130}, {130}, {130}});
  CHECK(ends(contended(four, slowed_by(kForward, kForward, {0.1, 0.3}))) == Ends{169, 169, 169, 169});
  CHECK(ends(contended(four, slowed_by(kForward, kForward, {0.1, 0.2, 1}))) == Ends{260, 260, 260, 260});
  CHECK(ends(contended(lanes({{100}, {100}}), slowed_by(kForward, kForward, {0.1, 1}))) == Ends{110, 110});
}

TEST_CASE("slowdowns by different kinds add up") {
  Contention contention = slowed_by(kForward, kForward, {0.25});
  contention.slowdowns.push_back({kForward, set_of(Load::kW), {0.75}});
  Program program = contended(lanes({{100}, {100}, {400}}), contention);
  program.rows[2].op = Op::kW;
  CHECK(ends(program) == Ends{200, 200, 400});
}

TEST_CASE("devices of different nodes do not feel each other") {
  Program program = contended(lanes({{100}, {100}, {100}}), slowed_by(kForward, kForward, {0.5, 3}));
  program.devices_per_node = 2;
  CHECK(ends(program) == Ends{150, 150, 100});
}

TEST_CASE("a message takes its share of the devices at both its ends while it is sent") {
  ProgramBuilder builder = lanes({{10, 100}, {30, 5}});
  builder.message({0, 0}, {1, 1}, 50);
  Contention contention;
  contention.message_share = 0.2;
  // The message goes from 10 to 60: 40 of d0's 100 are done by then; d1 has 20 left at 10, which take 25.
  CHECK(ends(contended(builder, contention)) == Ends{10, 120, 35, 65});
}

TEST_CASE("messages slow what runs anywhere in the node when a curve says so") {
  ProgramBuilder builder = lanes({{10, 1}, {30, 5}, {100}});
  builder.message({0, 0}, {1, 1}, 50);
  CHECK(ends(contended(builder, slowed_by(kForward, set_of(Load::kMessage), {1})))[4] == 125);
}

TEST_CASE("a collective takes its share of its members while it lasts") {
  ProgramBuilder builder = lanes({{10, 100}, {10, 100}, {100}});
  Program program = builder.build();
  program.rows[0].op = program.rows[2].op = Op::kReduceGrad;
  program.collectives.push_back({.members = {0, 2}, .duration = 50});
  program.contention.collective_share = 0.5;
  // From 10 to 60 at half speed: 25 done.
  CHECK(ends(program) == Ends{10, 135, 10, 135, 100});
}

TEST_CASE("the clock follows the load at once, or by a share of the difference every period") {
  Contention contention;
  contention.clock.emplace();
  contention.clock->load[0] = 1;
  contention.clock->points = {{1, 1}, {2, 0.5}};
  const ProgramBuilder two = lanes({{100}, {100}});
  CHECK(ends(contended(two, contention)) == Ends{200, 200});
  CHECK(ends(contended(lanes({{100}, {50}}), contention)) == Ends{150, 100});
  // Clocks of 1, 0.75, 0.625, ... for 10 each: after n periods 5 n + 10 (1 - 2^-n) is done.
  contention.clock->period_ns = 10;
  contention.clock->gain = 0.5;
  CHECK(ends(contended(two, contention)) == Ends{180, 180});
  contention.clock->per_device = true;
  CHECK(ends(contended(two, contention)) == Ends{100, 100});
}

TEST_CASE("§6.12: what is under way together ends when an engine that looks at every tick says, in random programs") {
  int contended_runs = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    Program program = testing::random_program(
        {.devices = 4, .per_device = 8, .longest = 25, .transfers = seed % 3 != 0, .most_bytes = 20}, seed);
    const auto alone = run_events(program, {});
    RandomContention(seed).put_into(program);
    const TransferMode mode = seed % 2 == 0 ? TransferMode::kBuffered : TransferMode::kFifo;
    SimOptions options;
    options.transfers = mode;
    const auto times = run_events(program, options);
    const auto expected = run_tick_by_tick(program, mode);
    REQUIRE(times.has_value());
    REQUIRE(expected.has_value());
    INFO(program_to_text(program));
    CHECK(*times == *expected);
    contended_runs += times->makespan > alone->makespan ? 1 : 0;
  }
  CHECK(contended_runs > 150);
}

TEST_CASE("contention that takes nothing changes nothing, schedule by schedule, in every figure and span") {
  StageCosts costs;
  for (int stage = 0; stage < 8; ++stage) costs.times.push_back({.f = 10 + stage, .b = 21, .i = 9, .w = 12, .u = 3});
  costs.memory.resize(8);
  for (StageMemory& memory : costs.memory) memory.output_bytes = memory.input_grad_bytes = 14;
  Cluster cluster;
  cluster.devices.resize(4);
  cluster.devices_per_node = 4;
  cluster.intra_node = {.latency_ns = 2, .bytes_per_s = 2e9};
  cluster.finish();
  Cluster same = cluster;
  same.contention = slowed_by(kForward, kForward | set_of(Load::kMessage), {0});
  for (const char* name : {"1f1b", "interleaved", "zb-h1", "zb-v", "pipemare"}) {
    CAPTURE(name);
    Schedule schedule = generate(name, {.num_devices = 4, .num_microbatches = 8});
    StageCosts own = costs;
    own.times.resize(static_cast<std::size_t>(schedule.num_stages));
    own.memory.resize(own.times.size());
    CHECK(simulate(lower(schedule, own, &same)) == simulate(lower(schedule, own, &cluster)));
  }
}

TEST_CASE("time lost to others is reported by device, in the document too, and causes still add up") {
  StageCosts costs;
  costs.times.assign(4, {.f = 100, .b = 200, .i = 100, .w = 100, .u = 7});
  Cluster cluster;
  cluster.devices.resize(4);
  cluster.devices_per_node = 4;
  cluster.intra_node = {.latency_ns = 2, .bytes_per_s = 2e9};
  cluster.contention = slowed_by(kForward | set_of(Load::kB), kForward | set_of(Load::kB), {0.1, 0.2, 0.3});
  cluster.finish();
  costs.memory.resize(4);
  const Program program = lower(generate("1f1b", {.num_devices = 4, .num_microbatches = 8}), costs, &cluster);
  const Timeline timeline = simulate(program);
  for (const DeviceSummary& device : timeline.devices) {
    CHECK(device.slowed > 0);
    CHECK(device.busy - device.slowed == 8 * 300 + 7);
    CHECK(std::accumulate(device.idle_causes.begin(), device.idle_causes.end(), Ticks{0}) == device.idle);
  }
  Ticks path = 0;
  for (const CriticalShare& share : timeline.critical_path) path += share.ticks;
  CHECK(path == timeline.makespan);
  CHECK(timeline_from_json(timeline_to_json(timeline), "t.json").devices == timeline.devices);
  CHECK(simulate_summary(generate("1f1b", {.num_devices = 4, .num_microbatches = 8}), costs, &cluster).makespan ==
        timeline.makespan);
}

TEST_CASE("the one-pass engine refuses what is contended, with the reason") {
  const Program program = contended(lanes({{1}, {1}}), slowed_by(kForward, kForward, {1}));
  SimOptions options;
  options.engine = EngineChoice::kPass;
  CHECK(testing::error_message([&] { simulate(program, options); }) ==
        "engine pass: actions take longer when others are under way, which it cannot simulate; expected the event "
        "engine, "
        "which runs where no engine is asked for");
}

TEST_SUITE_END();
