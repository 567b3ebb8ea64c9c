#include "sim/passes/one_pass.hpp"

#include <doctest/doctest.h>

#include <array>
#include <numeric>
#include <vector>

#include "models/ground/error.hpp"
#include "sim/passes/plain_passes.hpp"
#include "tests/support/program_builder.hpp"
#include "tests/support/random_program.hpp"
#include "tests/support/simulated.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb {
namespace {

using testing::Case;
using testing::ProgramBuilder;
using Lanes = ProgramBuilder::Lanes;

constexpr std::array kPassModes{TransferMode::kBuffered, TransferMode::kFifo, TransferMode::kRendezvous,
                                TransferMode::kBlocking, TransferMode::kBatched};

Ticks cause(const DeviceSummary& device, IdleCause which) {
  return device.idle_causes[static_cast<std::size_t>(which)];
}

void check_causes_add_up(const Timeline& timeline) {
  for (const DeviceSummary& device : timeline.devices) {
    CHECK(std::accumulate(device.idle_causes.begin(), device.idle_causes.end(), Ticks{0}) == device.idle);
    CHECK(device.busy + device.idle == timeline.makespan);
    for (const Ticks part : device.idle_causes) CHECK(part >= 0);
  }
}

/// 100 bytes take 10 ticks, and 3 more under way.
constexpr Route kRoute{.latency_ns = 3, .bytes_per_s = 10e9, .shared = {}, .half_duplex = false};

}  // namespace

TEST_CASE("two stages and two microbatches, every start worked out by hand") {
  const Program program = testing::program_of({.name = "1f1b", .p = 2, .m = 2, .cost = "F=1,B=2,comm=0.5"});
  const auto times = run_one_pass(ProgramIndex(program), {});
  REQUIRE(times.has_value());
  constexpr Ticks kHalf = 500'000;  // half a unit
  std::vector<Ticks> starts;
  for (const Ticks start : times->start) starts.push_back(start / kHalf);
  // d0: F0 0-1, F1 1-2, B0 when 1B0 (1.5-4.5) is over and under way: 5-7, B1 8.5-10.5, U
  // d1: F0 1.5-2.5, B0 2.5-4.5, F1 4.5-5.5, B1 5.5-7.5, U
  CHECK(starts == std::vector<Ticks>{0, 2, 10, 16, 20, 3, 5, 9, 11, 15});
  CHECK(times->makespan == 20 * kHalf);
}

TEST_CASE("the causes of a wait that ends with latency are the latency and, before it, the other device's computing") {
  ProgramBuilder builder(Lanes{{10}, {2, 1}});
  builder.latency({0, 0}, {1, 1}, 3);
  const Timeline timeline = simulate(builder.build());
  CHECK(cause(timeline.devices[1], IdleCause::kCompute) == 8);
  CHECK(cause(timeline.devices[1], IdleCause::kTransferLatency) == 3);
  CHECK(cause(timeline.devices[0], IdleCause::kDrain) == 4);
  check_causes_add_up(timeline);
}

TEST_CASE("the causes of a wait for a message are its queue, its sending and its latency, in whole") {
  ProgramBuilder builder(Lanes{{5, 1}, {2, 1, 1}}, kRoute);
  builder.message({0, 0}, {1, 1}, 100);  // sent 5-15, there at 18
  builder.message({0, 1}, {1, 2}, 100);  // exists at 6, sent 15-25, there at 28
  const Timeline timeline = simulate(builder.build());
  const DeviceSummary& receiver = timeline.devices[1];
  // [2, 18): 3 computing, 10 sending, 3 latency; [19, 28): 6 sending from 19 on, 3 latency
  CHECK(cause(receiver, IdleCause::kCompute) == 3);
  CHECK(cause(receiver, IdleCause::kTransferBandwidth) == 16);
  CHECK(cause(receiver, IdleCause::kTransferLatency) == 6);
  CHECK(cause(receiver, IdleCause::kTransferQueue) == 0);
  CHECK(timeline.makespan == 29);
  check_causes_add_up(timeline);
}

TEST_CASE("head of line: a small message behind a large one waits in the queue, and the report says so") {
  ProgramBuilder builder(Lanes{{1, 1, 1}, {1, 1}}, kRoute);
  builder.message({0, 0}, {1, 1}, 10);
  builder.message({0, 1}, {1, 1}, 10);
  Program program = builder.build();
  program.transfers[0].bytes = 400;  // sent 1-41; the small one 41-42, there at 45
  const Timeline timeline = simulate(program);
  const DeviceSummary& receiver = timeline.devices[1];
  CHECK(cause(receiver, IdleCause::kTransferQueue) == 39);  // [2, 41)
  CHECK(cause(receiver, IdleCause::kTransferBandwidth) == 1);
  CHECK(cause(receiver, IdleCause::kTransferLatency) == 3);
  CHECK(cause(receiver, IdleCause::kCompute) == 1);
  check_causes_add_up(timeline);
}

TEST_CASE("waiting for a collective is its duration and, before it, the members that still compute") {
  ProgramBuilder builder(Lanes{{4, 0, 1}, {9, 0}});
  builder.collective({{0, 1}, {1, 1}}, {0, 2}, 6);
  const Timeline timeline = simulate(builder.build());
  CHECK(cause(timeline.devices[0], IdleCause::kCompute) == 5);
  CHECK(cause(timeline.devices[0], IdleCause::kCollective) == 6);
  check_causes_add_up(timeline);
}

TEST_CASE("idle causes add up to the idle time on random programs, in every transfer mode and in both engines") {
  int runs = 0;
  for (const TransferMode mode : kPassModes) {
    for (const EngineChoice engine : {EngineChoice::kPass, EngineChoice::kEvent}) {
      for (std::uint64_t seed = 0; seed < 40; ++seed) {
        CAPTURE(static_cast<int>(mode));
        CAPTURE(seed);
        const Program program = testing::random_program({}, seed);
        if (!run_one_pass(ProgramIndex(program), {.transfers = mode})) continue;  // deadlocks in this mode
        check_causes_add_up(simulate(program, {.engine = engine, .transfers = mode}));
        ++runs;
      }
    }
  }
  CHECK(runs > 200);
}

TEST_CASE("totals alone are those of the full run for every schedule") {
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    for (const std::string_view cost : {"F=1,B=2", "F=1,I=1.25,W=0.5,U=0.25,comm=0.3"}) {
      CAPTURE(spec.name);
      CAPTURE(cost);
      const Program program = testing::program_of({.name = spec.name, .p = 4, .m = 12, .cost = cost, .updates = 3});
      const Timeline summary = simulate(program, {.spans = false, .memory_curve = false});
      Timeline full = simulate(program);
      CHECK(full.spans.size() >= program.size());  // and the reductions
      full.spans.clear();
      full.critical_path.clear();
      full.steady_updates.reset();
      CHECK(full == summary);
    }
  }
}

TEST_CASE("totals wake every lane that waits for the same instr") {
  ProgramBuilder builder(Lanes{{7}, {1}, {2}, {3}});
  for (std::size_t d = 1; d < 4; ++d) builder.direct({0, 0}, {d, 0});
  const auto lanes = run_totals(builder.build());
  REQUIRE(lanes.has_value());
  CHECK(lanes->at(1).last_end == 8);
  CHECK(lanes->at(2).last_end == 9);
  CHECK(lanes->at(3).last_end == 10);
}

TEST_CASE("spans stand by device, then start, with messages and their peers among them") {
  ProgramBuilder builder(Lanes{{5, 20}, {2, 1}}, kRoute);
  builder.message({0, 0}, {1, 1}, 100);
  const Timeline timeline = simulate(builder.build());
  REQUIRE(timeline.spans.size() == 5);
  CHECK(timeline.spans[1].start == 5);
  CHECK(timeline.spans[1].lane == Lane::kCompute);
  const Span& message = timeline.spans[2];
  CHECK(message.lane == Lane::kTransfer);
  CHECK(message.action.op == Op::kSendF);
  CHECK(message.action.where == 1);
  CHECK(message.start == 5);
  CHECK(message.end == 15);
  CHECK(timeline.spans[4].idle_before == 16);
  CHECK(timeline.spans[4].waited_for == IdleCause::kTransferBandwidth);
}

TEST_CASE("one pass refuses shared links, and says what it expected") {
  ProgramBuilder builder(Lanes{{5}, {2}}, kRoute);
  builder.message({0, 0}, {1, 0}, 100);
  Program program = builder.build();
  program.shared_links = {{"bus", 1e9}};
  for (Channel& channel : program.channels) channel.route.shared = {0};
  CHECK_THROWS_WITH_AS(
      simulate(program, {.engine = EngineChoice::kPass}),
      "engine pass: links are shared by several pairs of devices, which it cannot simulate; expected the "
      "event engine, which runs where no engine is asked for",
      Error);
  CHECK(simulate(program).makespan > 0);
}

TEST_CASE("lanes that wait for each other are an error that names the cycle") {
  ProgramBuilder builder(Lanes{{1, 1}, {1, 1}});
  builder.direct({0, 1}, {1, 0});
  builder.direct({1, 1}, {0, 0});
  const Program program = builder.build();
  CHECK_FALSE(run_one_pass(ProgramIndex(program), {}).has_value());
  CHECK_FALSE(run_totals(program).has_value());
  CHECK_THROWS_WITH_AS(simulate(program), doctest::Contains("deadlock"), Error);
}

TEST_CASE("jitter follows the seed and leaves everything but durations alone") {
  Program program = testing::program_of({.name = "1f1b", .p = 2, .m = 40});
  program.device_specs.resize(2);
  for (DeviceSpec& spec : program.device_specs) spec.jitter = 0.1;
  const Timeline one = simulate(program, {.seed = 1});
  CHECK(one == simulate(program, {.seed = 1}));
  CHECK(one.makespan != simulate(program, {.seed = 2}).makespan);
  const double mean = testing::in_units(one.devices[0].busy, one.base) / 120;
  CHECK(mean > 0.95);
  CHECK(mean < 1.05);
}

}  // namespace plumb

TEST_SUITE_END();
