#include <doctest/doctest.h>

#include <numeric>

#include "schedules/catalogue/registry.hpp"
#include "schedules/lowering/lower.hpp"
#include "sim/critical_path.hpp"
#include "sim/events/event_engine.hpp"
#include "sim/passes/one_pass.hpp"
#include "sim/simulate.hpp"
#include "tests/support/program_builder.hpp"

// sim/SPECIFICATION.md, §5.7: what a runtime's host and calls add.

TEST_SUITE_BEGIN("sim");

using namespace plumb;

namespace {

Cluster linked(std::int32_t devices, std::int64_t latency_ns) {
  Cluster cluster;
  cluster.devices.resize(static_cast<std::size_t>(devices));
  cluster.devices_per_node = devices;
  cluster.intra_node.latency_ns = latency_ns;
  cluster.finish();
  return cluster;
}

StageCosts even_costs(std::int32_t stages, const RuntimeCosts& runtime) {
  StageCosts costs;
  costs.times.assign(static_cast<std::size_t>(stages), {.f = 100, .b = 200, .i = 100, .w = 100});
  costs.runtime = runtime;
  return costs;
}

/// F of one microbatch on two devices, and B back.
Program there_and_back(const RuntimeCosts& runtime, ReceivePlacement receives = ReceivePlacement::kAhead) {
  const Schedule schedule = generate("1f1b", {.num_devices = 2, .num_microbatches = 1});
  const Cluster cluster = linked(2, 30);
  return lower(schedule, even_costs(2, runtime), &cluster, {.receives = receives});
}

SimOptions by_rendezvous() {
  SimOptions options;
  options.transfers = TransferMode::kRendezvous;
  return options;
}

Ticks overhead(const DeviceSummary& device) {
  return device.idle_causes[static_cast<std::size_t>(IdleCause::kOverhead)];
}

}  // namespace

TEST_CASE("§5.7: host time before a wait costs nothing where the lane must wait longer anyway") {
  // F on device 0 from 5 to 105. Its message is there at 135: device 1 was ready at 5. B on device 1 from 235 + 7.
  const Timeline timeline = simulate(there_and_back({.f_ns = 5, .b_ns = 7, .calls = {}}), by_rendezvous());
  CHECK(timeline.spans[0].start == 5);
  CHECK(timeline.makespan == 5 + 100 + 30 + 100 + 7 + 200 + 30 + 200);
  CHECK(overhead(timeline.devices[1]) == 7);
  CHECK(overhead(timeline.devices[0]) == 0);
}

TEST_CASE("§5.7: a message is offered when the call that sends it begins, and the lane goes on when it ends") {
  const RuntimeCosts calls{.calls = {{.send_ns = 11, .send_posted_ns = 40, .receive_ns = 3}}};
  const Program program = there_and_back(calls, ReceivePlacement::kLate);
  const Timeline timeline = simulate(program, by_rendezvous());
  // Both receives were posted long before: F's at 3 on device 1; B's at 143 on device 0, after the call that sends,
  // from 100 to 140. So the call that sends B's gradient begins at 430, and the message arrives at 460.
  CHECK(timeline.spans[0].end == 100);
  CHECK(timeline.makespan == 100 + 30 + 100 + 200 + 30 + 200);
  const auto times = run_events(program, by_rendezvous());
  REQUIRE(times);
  CHECK(times->issued[program.lane_begin[0]] == 140);
  CHECK(times->ready[program.lane_begin[0] + 1] == 143);
}

TEST_CASE("§5.7: calls take longer for longer messages, and a cluster tells what they take where costs do not") {
  const Schedule schedule = generate("1f1b", {.num_devices = 2, .num_microbatches = 1});
  StageCosts costs = even_costs(2, {});
  Cluster cluster = linked(2, 30);
  cluster.runtime.calls = {{.bytes = 100, .send_ns = 10, .send_posted_ns = 20, .receive_ns = 3},
                           {.bytes = 300, .send_ns = 10, .send_posted_ns = 40, .receive_ns = 4}};
  const auto busy_until = [&](std::int64_t bytes) {
    costs.message_bytes = bytes;
    const auto times =
        run_events(lower(schedule, costs, &cluster, {.receives = ReceivePlacement::kLate}), by_rendezvous());
    REQUIRE(times);
    return times->issued[0];
  };
  CHECK(busy_until(50) == 100 + 20);
  CHECK(busy_until(200) == 100 + 30);
  CHECK(busy_until(400) == 100 + 50);
  costs.runtime.calls = {{.send_ns = 1, .send_posted_ns = 1, .receive_ns = 1}};
  CHECK(busy_until(400) == 100 + 1);
}

TEST_CASE("§5.7: a call is short while the receive is not posted") {
  // Device 1 turns to the receive of microbatch 1 only after B of microbatch 0: its sender does not move the bytes.
  const Schedule schedule = generate("1f1b", {.num_devices = 2, .num_microbatches = 2});
  const Cluster cluster = linked(2, 30);
  const RuntimeCosts calls{.calls = {{.send_ns = 1, .send_posted_ns = 50, .receive_ns = 1}}};
  const Program program =
      lower(schedule, even_costs(2, calls), &cluster, {.receives = ReceivePlacement::kLate, .send_buffers = 9});
  const auto times = run_events(program, by_rendezvous());
  REQUIRE(times);
  const InstrIndex first = program.lane_begin[0];
  CHECK(times->issued[first] == 100 + 50);
  CHECK(times->start[first + 1] == 150);
  CHECK(times->issued[first + 1] == 250 + 1);
}

TEST_CASE(
    "§5.7: a receive that is posted at the moment when the call begins is not posted before it, in either engine") {
  // F on device 0 ends at 100. Device 1 posts its receive at the end of a call, before an action of its own would
  // start.
  const auto goes_on_at = [](std::int64_t receive_ns) {
    const RuntimeCosts calls{.calls = {{.send_ns = 1, .send_posted_ns = 50, .receive_ns = receive_ns}}};
    const Program program = there_and_back(calls, ReceivePlacement::kLate);
    const SimOptions options = by_rendezvous();
    CHECK_FALSE(why_not_one_pass(program, options));
    const auto times = run_one_pass(ProgramIndex(program), options);
    REQUIRE(times);
    CHECK(times == run_events(program, options));
    return times->issued[program.lane_begin[0]];
  };
  CHECK(goes_on_at(99) == 150);
  CHECK(goes_on_at(100) == 101);
  CHECK(goes_on_at(101) == 101);
}

TEST_CASE("§5.7: where lanes hang on each other's calls, the one that begins first goes on") {
  // Both devices send at the end of their first action, and post the other's message after that.
  testing::ProgramBuilder builder({{20, 5}, {30, 5}}, {3, 1e9, {}, false});
  builder.message({0, 0}, {1, 1}, 8);
  builder.message({1, 0}, {0, 1}, 8);
  Program program = builder.build();
  program.runtime.host.assign(program.rows.size(), 0);
  program.runtime.calls.assign(2, {.send = 4, .send_posted = 40, .receive = 2});
  const auto times = run_one_pass(ProgramIndex(program), by_rendezvous());
  REQUIRE(times);
  CHECK(times == run_events(program, by_rendezvous()));
  // Device 0 sends from 20 to 24, and its receive is posted at 26, before device 1 begins to send.
  CHECK(times->issued[program.lane_begin[0]] == 24);
  CHECK(times->issued[program.lane_begin[1]] == 70);
}

TEST_CASE("§5.7: calls behind the last unit do not count for the makespan, in either engine") {
  testing::ProgramBuilder builder({{20}, {5, 5}}, {3, 1e9, {}, false});
  builder.message({0, 0}, {1, 1}, 8);
  Program program = builder.build();
  program.runtime.host.assign(program.rows.size(), 0);
  program.runtime.calls.assign(1, {.send = 400, .send_posted = 400, .receive = 2});
  const auto times = run_one_pass(ProgramIndex(program), by_rendezvous());
  REQUIRE(times);
  CHECK(times == run_events(program, by_rendezvous()));
  CHECK(times->makespan == 20 + 8 + 3 + 5);
}

TEST_CASE("§9: causes add up to idle time, and the critical path to the makespan, in every mode with host and calls") {
  const RuntimeCosts costs{
      .f_ns = 4, .b_ns = 6, .i_ns = 5, .w_ns = 3, .calls = {{.send_ns = 7, .send_posted_ns = 19, .receive_ns = 2}}};
  int runs = 0;
  for (const char* name : {"1f1b", "gpipe", "zb-h1", "interleaved", "zb-v", "dualpipev", "hanayo"}) {
    const Schedule schedule = generate(name, {.num_devices = 4, .num_microbatches = 8});
    const Cluster cluster = linked(4, 23);
    for (const auto receives : {ReceivePlacement::kAhead, ReceivePlacement::kLate, ReceivePlacement::kOnSend}) {
      const Program program =
          lower(schedule, even_costs(schedule.num_stages, costs), &cluster, {.receives = receives, .send_buffers = 1});
      for (int mode = 0; mode < 6; ++mode) {
        SimOptions options;
        options.transfers = static_cast<TransferMode>(mode);
        if (!run_events(program, options)) continue;
        CAPTURE(name);
        CAPTURE(mode);
        ++runs;
        const Timeline timeline = simulate(program, options);
        Ticks told = 0;
        for (const DeviceSummary& device : timeline.devices) {
          CHECK(std::accumulate(device.idle_causes.begin(), device.idle_causes.end(), Ticks{0}) == device.idle);
          told += overhead(device);
        }
        CHECK(told > 0);
        Ticks path = 0;
        for (const CriticalShare& share : timeline.critical_path) path += share.ticks;
        CHECK(path == timeline.makespan);
      }
    }
  }
  CHECK(runs > 60);
}

TEST_SUITE_END();
