#include "sim/events/event_engine.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "schedules/runnability/deadlock.hpp"
#include "sim/events/event_queue.hpp"
#include "sim/rules/jitter.hpp"
#include "tests/support/program_builder.hpp"

TEST_SUITE_BEGIN("sim");

using namespace plumb;
using plumb::testing::ProgramBuilder;
using Lanes = ProgramBuilder::Lanes;

namespace {

RunTimes run_on_events(const Program& program, TransferMode mode = TransferMode::kBuffered) {
  SimOptions options;
  options.transfers = mode;
  const auto times = run_events(program, options);
  REQUIRE(times.has_value());
  return *times;
}

/// All messages go over link 0 of `bytes_per_s`.
Program over_one_link(const ProgramBuilder& builder, double bytes_per_s) {
  Program program = builder.build();
  program.shared_links = {{"bus", bytes_per_s}};
  for (Channel& channel : program.channels) channel.route.shared = {0};
  return program;
}

}  // namespace

TEST_CASE("the event queue gives events in order of time, then of slot, and moves the ones it has") {
  EventQueue queue(6);
  queue.schedule(3, 20);
  queue.schedule(1, 10);
  queue.schedule(2, 10);
  queue.schedule(0, 30);
  queue.schedule(0, 5);   // earlier
  queue.schedule(3, 12);  // still behind 1 and 2
  CHECK(queue.take().slot == 0);
  queue.schedule(4, 11);  // into the hole
  CHECK(queue.take().slot == 1);
  CHECK(queue.take().slot == 2);
  queue.schedule(3, 40);  // moved while the root is a hole
  CHECK(queue.take().slot == 4);
  CHECK(queue.take().time == 40);
  CHECK(queue.empty());
}

TEST_CASE("§6.10: half duplex: both directions of a pair take turns, the one that could start first first") {
  ProgramBuilder builder(Lanes{{10, 1, 1}, {11, 1, 1}}, {2, 1e9, {}, true});
  builder.message({0, 0}, {1, 1}, 100);  // may start at 10
  builder.message({1, 0}, {0, 2}, 50);   // may start at 11, when the link is taken
  const RunTimes times = run_on_events(builder.build());
  CHECK(times.transfers[0].start == 10);
  CHECK(times.transfers[0].available == 112);
  CHECK(times.transfers[1].start == 110);
  CHECK(times.transfers[1].available == 162);
}

TEST_CASE(
    "half duplex: of two messages that could start at the same moment the one with the smaller index goes first") {
  ProgramBuilder builder(Lanes{{10, 1}, {10, 1}}, {0, 1e9, {}, true});
  builder.message({1, 0}, {0, 1}, 7);
  builder.message({0, 0}, {1, 1}, 7);
  const RunTimes times = run_on_events(builder.build());
  CHECK(times.transfers[0].start == 10);
  CHECK(times.transfers[1].start == 17);
}

TEST_CASE("§6.11: two messages share a link fairly: the longer one is fast again when the shorter one is done") {
  ProgramBuilder builder(Lanes{{0}, {0}, {0, 0}});
  builder.message({0, 0}, {2, 0}, 100);
  builder.message({1, 0}, {2, 1}, 300);
  const RunTimes times = run_on_events(over_one_link(builder, 1e9));
  CHECK(times.transfers[0].done == 200);  // 100 bytes at half of 1 byte/ns
  CHECK(times.transfers[1].done == 400);  // 100 at half speed, then 200 alone
}

TEST_CASE("a late message slows the one under way, and bytes already sent stay sent") {
  ProgramBuilder builder(Lanes{{0}, {50}, {0, 0}});
  builder.message({0, 0}, {2, 0}, 100);
  builder.message({1, 0}, {2, 1}, 100);
  const RunTimes times = run_on_events(over_one_link(builder, 1e9));
  CHECK(times.transfers[0].done == 150);  // 50 alone, 50 at half speed
  CHECK(times.transfers[1].done == 200);
}

TEST_CASE("progressive filling: what one link cannot use goes to the others") {
  ProgramBuilder builder(Lanes{{0}, {0}, {0}, {0, 0}, {0}});
  builder.message({0, 0}, {3, 0}, 300);  // over the narrow link and the wide one
  builder.message({1, 0}, {3, 1}, 300);  // over the narrow link
  builder.message({2, 0}, {4, 0}, 900);  // over the wide link
  Program program = builder.build();
  program.shared_links = {{"narrow", 6e8}, {"wide", 1.2e9}};
  program.channels[0].route = {0, 0, {0, 1}, false};
  program.channels[1].route = {0, 0, {0}, false};
  program.channels[2].route = {0, 0, {1}, false};
  const RunTimes times = run_on_events(program);
  CHECK(times.transfers[0].done == 1000);  // 0.3 bytes/ns
  CHECK(times.transfers[1].done == 1000);
  CHECK(times.transfers[2].done == 1000);  // 0.9 bytes/ns
}

TEST_CASE("§6.11: a message on a shared link is never faster than its own route, and others get what it leaves") {
  ProgramBuilder builder(Lanes{{0}, {0}, {0, 0}});
  builder.message({0, 0}, {2, 0}, 100);
  builder.message({1, 0}, {2, 1}, 900);
  Program program = over_one_link(builder, 1e9);
  program.channels[0].route.bytes_per_s = 1e8;
  const RunTimes times = run_on_events(program);
  CHECK(times.transfers[0].done == 1000);
  CHECK(times.transfers[1].done == 1000);  // 0.9 bytes/ns
}

TEST_CASE("a message that is alone on a shared link takes exactly its sending time") {
  for (const std::int64_t bytes : {0, 1, 2, 3, 1000003}) {
    CAPTURE(bytes);
    ProgramBuilder builder(Lanes{{5}, {0}}, {0, 3e9, {}, false});
    builder.message({0, 0}, {1, 0}, bytes);
    const RunTimes times = run_on_events(over_one_link(builder, 3e9));
    CHECK(times.transfers[0].done - times.transfers[0].start == sending_time(bytes, 3'000'000'000, {}));
  }
}

TEST_CASE("a collective starts when its last member has joined and lets the lanes go on") {
  ProgramBuilder builder(Lanes{{4, 0, 10, 1}, {9, 0}});
  builder.collective({{0, 1}, {1, 1}}, {0, 3}, 7);
  const RunTimes times = run_on_events(builder.build());
  CHECK(times.collective_end[0] == 16);  // 9 + 7
  CHECK(times.start[2] == 4);
  CHECK(times.start[3] == 16);
}

TEST_CASE("an overlapped pair starts when both inputs are there and gives both results at its end") {
  ProgramBuilder builder(Lanes{{10, 3, 0}, {4}, {20}, {1}, {1}});
  builder.pair({0, 1});
  builder.direct({1, 0}, {0, 1});
  builder.direct({2, 0}, {0, 2});
  builder.direct({0, 1}, {3, 0});
  builder.direct({0, 2}, {4, 0});
  const RunTimes times = run_on_events(builder.build());
  CHECK(times.start[1] == 20);
  CHECK(times.start[2] == 20);
  CHECK(times.end[1] == 23);
  CHECK(times.end[2] == 23);
  CHECK(times.start[5] == 23);
  CHECK(times.start[6] == 23);
}

TEST_CASE("jitter changes durations the same way every time, by the seed") {
  ProgramBuilder builder(Lanes{{1000, 1000, 1000}});
  Program program = builder.build();
  program.device_specs.resize(1);
  program.device_specs[0].jitter = 0.1;
  const auto makespan = [&](std::uint64_t seed) { return run_events(program, {.seed = seed})->makespan; };
  CHECK(makespan(1) == makespan(1));
  CHECK(makespan(1) != makespan(2));
  CHECK(makespan(1) == jittered(1000, 0.1, 1, 0) + jittered(1000, 0.1, 1, 1) + jittered(1000, 0.1, 1, 2));
}

TEST_CASE("two blocking sends towards each other deadlock, and the line names both") {
  ProgramBuilder builder(Lanes{{1, 1}, {1, 1}});
  builder.message({0, 0}, {1, 1}, 8);
  builder.message({1, 0}, {0, 1}, 8);
  const Program program = builder.build();
  CHECK_FALSE(run_events(program, {.transfers = TransferMode::kBlocking}).has_value());
  CHECK(describe_deadlock(program, TransferMode::kBlocking) ==
        "transfers blocking: deadlock: "
        "0F1 on device 0 waits for the message of 0F0 from device 0 to device 1, whose receive is not posted before "
        "1F1 on device 1; "
        "1F1 on device 1 waits for the message of 1F0 from device 1 to device 0, whose receive is not posted before "
        "0F1 on device 0");
  CHECK(describe_deadlock(program, TransferMode::kBatched).empty());
  CHECK(run_on_events(program, TransferMode::kBatched).makespan == 10);
}

TEST_SUITE_END();
