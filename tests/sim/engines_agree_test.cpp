#include <doctest/doctest.h>

#include <array>
#include <initializer_list>
#include <map>
#include <numeric>
#include <random>
#include <vector>

#include "models/sources/abstract_costs.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/lowering/lower.hpp"
#include "schedules/program/program_text.hpp"
#include "schedules/program/waits.hpp"
#include "schedules/rules/start_together.hpp"
#include "schedules/runnability/deadlock.hpp"
#include "sim/events/event_engine.hpp"
#include "sim/passes/one_pass.hpp"
#include "sim/run_program.hpp"
#include "tests/sim/specification/specification_cases.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/random_program.hpp"
#include "tests/support/reference_engine.hpp"
#include "tests/support/written_schedule.hpp"

TEST_SUITE_BEGIN("sim");

using namespace plumb;
using plumb::testing::random_program;
using plumb::testing::RandomProgram;
using plumb::testing::run_longest_path;

namespace {

constexpr std::array kComparedModes{TransferMode::kBuffered, TransferMode::kFifo,    TransferMode::kRendezvous,
                                    TransferMode::kBlocking, TransferMode::kBatched, TransferMode::kPairFifo};

/// How often each outcome was met, so that a property over nothing cannot pass.
struct Met {
  int runs = 0;
  int deadlocks = 0;
};

/// Checks all three; whether the program runs to its end.
bool engines_agree_on(const Program& program, TransferMode mode) {
  SimOptions options;
  options.transfers = mode;
  const auto expected = run_longest_path(program, options);
  const auto by_events = run_events(program, options);
  REQUIRE(by_events.has_value() == expected.has_value());
  const bool passes = !why_not_one_pass(program, options);
  CHECK(passes == (mode != TransferMode::kPairFifo || program.transfers.size() == program.moves.size()));
  const auto by_pass = passes ? run_one_pass(ProgramIndex(program), options) : by_events;
  REQUIRE(by_pass.has_value() == expected.has_value());
  CHECK(describe_deadlock(program, mode).empty() == expected.has_value());
  if (!expected) return false;
  INFO(program_to_text(program));
  CHECK(*by_events == *expected);
  CHECK(*by_pass == *expected);
  return true;
}

Met check_engines_agree(const RandomProgram& shape, TransferMode mode, std::uint64_t seeds) {
  Met met;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    CAPTURE(seed);
    ++(engines_agree_on(random_program(shape, seed), mode) ? met.runs : met.deadlocks);
  }
  return met;
}

/// Devices, edges, and how much is 0 or the same, differ from seed to seed.
RandomProgram shape_with_calls(std::uint64_t seed) {
  const auto of = [&](std::uint64_t turn, std::initializer_list<std::int64_t> values) {
    return values.begin()[seed / turn % values.size()];
  };
  return {.devices = static_cast<std::int32_t>(of(5, {2, 3, 4, 6})),
          .per_device = static_cast<std::int32_t>(of(20, {5, 9, 14})),
          .edges = static_cast<std::int32_t>(of(60, {8, 16, 30})),
          .longest = of(180, {0, 1, 2, 9}),
          .most_bytes = of(720, {0, 1, 8}),
          .latency = of(2160, {0, 1, 3}),
          .longest_host = of(3, {0, 1, 5}),
          .longest_call = of(7, {1, 2, 4, 9}),
          .max_ahead = static_cast<std::int32_t>(of(11, {0, 1, 3}))};
}

/// One place in every lane, between units: after the first half, third, ... of its instrs.
std::vector<InstrIndex> places_after(const Program& program, InstrIndex share) {
  std::vector<InstrIndex> places;
  for (std::size_t d = 0; d + 1 < program.lane_begin.size(); ++d) {
    const InstrIndex begin = program.lane_begin[d];
    InstrIndex place = begin;
    while (place < begin + (program.lane_begin[d + 1] - begin) / share) place = unit_end(program, place);
    places.push_back(place);
  }
  return places;
}

/// Stages that take different times, so that devices wait for each other.
StageCosts uneven_costs(std::int32_t stages) {
  StageCosts costs;
  for (std::int32_t stage = 0; stage < stages; ++stage) {
    StageTimes times;
    times.f = 10 + 3 * (stage % 4);
    times.i = 9 + 5 * (stage % 3);
    times.w = 11;
    times.b = times.i + times.w;
    times.u = 4;
    times.all_reduce = 13;
    costs.times.push_back(times);
    StageMemory memory;
    memory.output_bytes = memory.input_grad_bytes = memory.input_bytes = memory.output_grad_bytes = 14;
    costs.memory.push_back(memory);
  }
  return costs;
}

}  // namespace

TEST_CASE("both engines give the longest path of random programs with messages, in every transfer mode") {
  for (const TransferMode mode : kComparedModes) {
    CAPTURE(static_cast<int>(mode));
    const Met met = check_engines_agree({}, mode, 150);
    CHECK(met.runs >= 20);
  }
}

TEST_CASE("both engines deadlock exactly where the graph of moments has a cycle") {
  const Met met = check_engines_agree({.edges = 120, .max_ahead = 1}, TransferMode::kBlocking, 60);
  CHECK(met.deadlocks >= 10);
}

TEST_CASE("both engines give the longest path of random programs whose edges are latencies") {
  const Met met = check_engines_agree({.per_device = 20, .transfers = false}, TransferMode::kBuffered, 150);
  CHECK(met.runs == 150);
}

TEST_CASE("both engines agree when many things happen at once") {
  for (const TransferMode mode : kComparedModes) {
    CAPTURE(static_cast<int>(mode));
    check_engines_agree({.devices = 3, .longest = 1, .most_bytes = 1, .latency = 0}, mode, 100);
  }
}

TEST_CASE("§5.7: both engines give the longest path of random programs with host and calls, in every transfer mode") {
  for (const TransferMode mode : kComparedModes) {
    CAPTURE(static_cast<int>(mode));
    const Met met = check_engines_agree({.longest_host = 3, .longest_call = 6}, mode, 150);
    CHECK(met.runs >= 20);
  }
}

TEST_CASE("§5.7: and when calls and much else happen at once") {
  for (const TransferMode mode : kComparedModes) {
    CAPTURE(static_cast<int>(mode));
    const Met met = check_engines_agree(
        {.devices = 3, .longest = 1, .most_bytes = 1, .latency = 0, .longest_host = 1, .longest_call = 1}, mode, 150);
    CHECK(met.runs >= 20);
  }
}

TEST_CASE(
    "§5.7: both engines agree on many shapes of random programs with calls, whose lengths decide what comes later") {
  int runs = 0;
  int decided = 0;
  for (std::uint64_t seed = 0; seed < 12'000; ++seed) {
    Program program = random_program(shape_with_calls(seed), seed);
    if (program.transfers.empty()) continue;
    const SimOptions options{.transfers = kComparedModes[seed % 5]};
    CAPTURE(seed);
    const auto by_events = run_events(program, options);
    REQUIRE(run_one_pass(ProgramIndex(program), options) == by_events);
    if (!by_events) continue;
    ++runs;
    for (CallTicks& call : program.runtime.calls) call.send_posted = call.send;
    const bool is_same = run_one_pass(ProgramIndex(program), options) == by_events;
    decided += rules_of(options.transfers).needs_post && !is_same ? 1 : 0;
  }
  CHECK(runs >= 4'000);
  CHECK(decided >= 1'000);
}

TEST_CASE("§5.7: a pass that is stopped on its way, with calls that are open there, goes on to the same end") {
  int runs = 0;
  for (std::uint64_t seed = 0; seed < 3'000; ++seed) {
    const Program program = random_program(shape_with_calls(seed), seed);
    const SimOptions options{.transfers = kComparedModes[seed % 5]};
    const ProgramIndex indexed(program);
    CAPTURE(seed);
    OnePass pass(indexed, options);
    for (const InstrIndex share : {3U, 2U}) pass.run(places_after(program, share));
    pass.run();
    const auto by_events = run_events(program, options);
    REQUIRE(pass.finished() == by_events.has_value());
    if (!by_events) continue;
    CHECK(pass.take_times() == *by_events);
    ++runs;
  }
  CHECK(runs >= 1'000);
}

TEST_CASE("both engines agree on every schedule, mode and placement of receives over a cluster, or both deadlock") {
  Cluster cluster;
  cluster.devices.resize(4);
  cluster.devices_per_node = 2;
  cluster.intra_node = {.latency_ns = 2, .bytes_per_s = 2e9};
  cluster.inter_node = {.latency_ns = 5, .bytes_per_s = 1e9};
  cluster.finish();
  int runs = 0;
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    CAPTURE(spec.name);
    const Schedule schedule = generate(spec.name, {.num_devices = 4, .num_microbatches = 12});
    const StageCosts costs = uneven_costs(schedule.num_stages);
    for (const auto receives : {ReceivePlacement::kAhead, ReceivePlacement::kLate, ReceivePlacement::kOnSend}) {
      CAPTURE(static_cast<int>(receives));
      const Program program = lower(schedule, costs, &cluster, {.receives = receives});
      for (const TransferMode mode : kComparedModes) {
        CAPTURE(static_cast<int>(mode));
        runs += engines_agree_on(program, mode) ? 1 : 0;
      }
    }
  }
  CHECK(runs >= 60);
}

TEST_CASE("idle causes add up to idle time on shared and half-duplex links too, in every transfer mode") {
  int runs = 0;
  for (const bool shared : {false, true}) {
    CAPTURE(shared);
    Cluster cluster;
    cluster.devices.resize(4);
    cluster.devices_per_node = 2;
    cluster.intra_node = {.latency_ns = 2, .bytes_per_s = 1e9, .shared = shared, .half_duplex = true};
    cluster.inter_node = {.latency_ns = 5, .bytes_per_s = 5e8, .shared = shared, .half_duplex = !shared};
    cluster.finish();
    const Schedule schedule = generate("1f1b", {.num_devices = 4, .num_microbatches = 8, .chunks = 1, .options = {}});
    const Program program = lower(schedule, uneven_costs(4), &cluster);
    for (const TransferMode mode : kComparedModes) {
      CAPTURE(static_cast<int>(mode));
      if (!describe_deadlock(program, mode).empty()) continue;
      ++runs;
      SimOptions options;
      options.transfers = mode;
      const Timeline timeline = simulate(program, options);
      CHECK(timeline == simulate(program, options));
      for (const DeviceSummary& device : timeline.devices) {
        CHECK(std::accumulate(device.idle_causes.begin(), device.idle_causes.end(), Ticks{0}) == device.idle);
        CHECK(device.busy + device.idle == timeline.makespan);
      }
    }
  }
  CHECK(runs >= 8);
}

TEST_CASE("passes that start together do so in every engine, however messages travel") {
  std::mt19937_64 random(4);
  int starts = 0;
  int sends_between = 0;
  for (int tries = 0; tries < 800; ++tries) {
    auto schedule = testing::random_document(random, true);
    if (!schedule) continue;
    testing::SpecificationCase drawn = testing::random_case(*std::move(schedule), random);
    drawn.costs.runtime = {};
    const Program program =
        lower(drawn.schedule, drawn.costs, drawn.cluster ? &*drawn.cluster : nullptr, drawn.lowering);
    const CommonStarts common(drawn.schedule);
    for (const Transfer& transfer : program.transfers) {
      if (is_awaited_at_end(program, transfer)) continue;
      CHECK_FALSE(common.of(program.instrs[transfer.sent].action));
      sends_between += starts_together(program, transfer.sent - 1) ? 1 : 0;
    }
    for (const TransferMode mode : kComparedModes) {
      if (mode == TransferMode::kBlocking || !engines_agree_on(program, mode)) continue;
      SimOptions options;
      options.transfers = mode;
      const RunTimes times = *run_events(program, options);
      std::map<CommonStart, Ticks> first;
      for (InstrIndex at = 0; at < program.size(); ++at) {
        const auto start = common.of(program.instrs[at].action);
        if (start) CHECK(first.emplace(*start, times.start[at]).first->second == times.start[at]);
      }
      starts += static_cast<int>(first.size());
    }
  }
  CHECK(starts > 1000);
  CHECK(sends_between > 0);
}

TEST_CASE("stages that start together are refused where a lane waits for something of its own") {
  Schedule schedule = testing::written_schedule({"0F0 0B0", "1F0 1B0", "2F0 2B0"}, 1);
  schedule.stage_edges = {{StageId{0}, StageId{2}}};
  schedule.start_together = {{StageId{0}, StageId{1}}};
  StageCosts costs = abstract_costs("F=1,B=2", "", {.num_stages = 3});
  LowerOptions lowering;
  lowering.messages = true;
  SimOptions options;
  options.transfers = TransferMode::kBlocking;
  const auto refusal = [&] {
    return testing::error_message([&] {
      const Program program = lower(schedule, costs, nullptr, lowering);
      run_program(ProgramIndex(program), options);
    });
  };
  CHECK(refusal() ==
        "stages that start together: each device waits for its own messages by itself; expected transfers that block "
        "no device");
  options.transfers = TransferMode::kBuffered;
  CHECK(refusal().empty());
  costs.runtime.f_ns = 5;
  CHECK(refusal() == "stages that start together: expected no runtime whose host and calls take time");
}

TEST_SUITE_END();
