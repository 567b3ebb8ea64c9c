#include "sim/rules/transfer_semantics.hpp"

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "sim/events/event_engine.hpp"
#include "sim/passes/one_pass.hpp"
#include "tests/support/program_builder.hpp"

TEST_SUITE_BEGIN("sim");

using namespace plumb;
using plumb::testing::ProgramBuilder;
using Lanes = ProgramBuilder::Lanes;

namespace {

constexpr std::int64_t kGigabyte = 1'000'000'000;

/// The times of `program`, on which both engines must agree.
RunTimes run_on_both(const Program& program, TransferMode mode) {
  SimOptions options;
  options.transfers = mode;
  const auto events = run_events(program, options);
  const auto pass = run_one_pass(ProgramIndex(program), options);
  REQUIRE(events.has_value());
  REQUIRE(pass.has_value());
  CHECK(*events == *pass);
  return *events;
}

/// d0 makes two values, 0-10 and 10-20, for d1, which computes 0-30 before it needs the first. A message is sent in 8,
/// its latency is 3. The receives are posted just before their consumers.
ProgramBuilder late_receiver() {
  ProgramBuilder builder(Lanes{{10, 10, 10}, {30, 5, 5}}, {3, 1e9, {}, false});
  builder.message({0, 0}, {1, 1}, 8);
  builder.message({0, 1}, {1, 2}, 8);
  return builder;
}

}  // namespace

TEST_CASE("§6.7: a message is sent in bytes over bandwidth, to the nearest tick, halves up") {
  CHECK(sending_time(1500, kGigabyte, {1}) == 1500);
  CHECK(sending_time(1, 3 * kGigabyte, {1}) == 0);
  CHECK(sending_time(2, 4 * kGigabyte, {1}) == 1);  // half a nanosecond
  CHECK(sending_time(1, 3 * kGigabyte, {3}) == 1);  // thirds of a nanosecond are exact
  CHECK(sending_time(7, 0, {1}) == 0);              // no limit
  CHECK(sending_time(std::int64_t{1} << 40, kGigabyte, {1}) == std::int64_t{1} << 40);
  CHECK_THROWS_AS(sending_time(std::int64_t{1} << 62, 1, {1}), Error);
}

TEST_CASE("§6.7: bandwidths are whole bytes per second, at least one") {
  CHECK(whole_bytes_per_s(0) == 0);
  CHECK(whole_bytes_per_s(0.2) == 1);
  CHECK(whole_bytes_per_s(2.5e9) == 2'500'000'000);
  CHECK_THROWS_AS(whole_bytes_per_s(1e19), Error);
}

TEST_CASE("§6.7: buffered: a message starts when its value exists and its link is free") {
  const RunTimes times = run_on_both(late_receiver().build(), TransferMode::kBuffered);
  CHECK(times.transfers[0] == TransferTimes{10, 18, 21});
  CHECK(times.transfers[1] == TransferTimes{20, 28, 31});
  CHECK(times.start[4] == 30);
}

TEST_CASE("§6.7: buffered goes by the values, fifo by the order of issue") {
  ProgramBuilder builder = late_receiver();
  builder.message({0, 2}, {1, 2}, 2);
  Program program = builder.build();
  program.transfers[0].issue = program.transfers[1].issue = 2;  // both sent after the last action of d0
  const RunTimes buffered = run_on_both(program, TransferMode::kBuffered);
  CHECK(buffered.transfers[0].start == 10);
  const RunTimes fifo = run_on_both(program, TransferMode::kFifo);
  CHECK(fifo.transfers[0].start == 30);
  CHECK(fifo.transfers[1].start == 38);
  CHECK(fifo.transfers[2].start == 46);
}

TEST_CASE("§6.7: rendezvous: a message waits for its receive, and all queued after it wait with it") {
  const RunTimes times = run_on_both(late_receiver().build(), TransferMode::kRendezvous);
  CHECK(times.transfers[0] == TransferTimes{30, 38, 41});  // posted when d1 is done with its first action
  CHECK(times.start[4] == 41);
  CHECK(times.transfers[1] == TransferTimes{46, 54, 57});  // posted when d1 reaches the second consumer
  CHECK(times.end[2] == 30);                               // d0 is not held up
}

TEST_CASE("§6.4: rendezvous with receives posted ahead costs nothing here") {
  Program program = late_receiver().build();
  program.transfers[0].post = program.transfers[1].post = 3;
  CHECK(run_on_both(program, TransferMode::kRendezvous).transfers ==
        run_on_both(program, TransferMode::kBuffered).transfers);
}

TEST_CASE("§6.7: blocking: the sender's lane goes on when the message has arrived") {
  Program program = late_receiver().build();
  program.transfers[0].post = program.transfers[1].post = 3;
  const RunTimes times = run_on_both(program, TransferMode::kBlocking);
  CHECK(times.start[1] == 21);
  CHECK(times.start[2] == 42);
  CHECK(times.transfers[1] == TransferTimes{31, 39, 42});
}

TEST_CASE("§6.5: a sender waits for its oldest message before it makes the value that needs one buffer too many") {
  Program program = late_receiver().build();
  program.transfers[0].sent = 1;  // just before the second action of d0
  const RunTimes buffered = run_on_both(program, TransferMode::kBuffered);
  CHECK(buffered.start[1] == 18);
  const RunTimes rendezvous = run_on_both(program, TransferMode::kRendezvous);
  CHECK(rendezvous.start[1] == 38);
}

TEST_CASE("§5.1: a receive is posted after the waits of sends at its place") {
  ProgramBuilder builder(Lanes{{10, 1}, {10, 1}, {50, 1}}, {0, 1e9, {}, false});
  builder.message({0, 0}, {2, 1}, 5).sent = 1;  // d0 waits until d2 takes it: 50 + 5
  builder.message({1, 0}, {0, 1}, 5);           // d0 posts it at the same place
  const RunTimes times = run_on_both(builder.build(), TransferMode::kRendezvous);
  CHECK(times.sent(0) == 55);
  CHECK(times.transfers[1].start == 55);
}

TEST_CASE("§6.8: batched: a send and a receive of one place end together, seen from the device that batches them") {
  ProgramBuilder builder(Lanes{{10, 1, 1}, {10, 1, 20, 1}}, {3, 1e9, {}, false});
  builder.message({0, 0}, {1, 3}, 4).sent = 2;  // d0 to d1
  builder.message({1, 0}, {0, 1}, 4);           // d1 to d0, received where d0 sends
  Program program = builder.build();
  const RunTimes rendezvous = run_on_both(program, TransferMode::kRendezvous);
  CHECK(rendezvous.transfers[0].start == 31);  // posted by d1 before its last action
  CHECK(rendezvous.start[1] == 17);            // d0 has its value long before
  const RunTimes batched = run_on_both(program, TransferMode::kBatched);
  CHECK(batched.transfers[1].done == 14);
  CHECK(batched.transfers[1].available == 35);  // held by the batch until the send is done
  CHECK(batched.start[1] == 35);
}

TEST_CASE("§6.8: sends alone, or a send and a receive with different devices, are no batch") {
  ProgramBuilder builder(Lanes{{10, 1}, {10, 1}, {10, 1}});
  builder.message({0, 0}, {1, 1}, 4);
  builder.message({2, 0}, {0, 1}, 4);
  CHECK(batches_of(builder.build(), TransferMode::kBatched).size.empty());
}

TEST_CASE("§9.3: a receiver's wait splits back from its end into latency, sending, queue, and computing before that") {
  const TransferTimes times{.start = 30, .done = 40, .available = 45};
  CHECK(split_receive_wait(10, times, 20, 10, 5) ==
        WaitSplit{.compute = 10, .queue = 10, .bandwidth = 10, .latency = 5});
  CHECK(split_receive_wait(25, times, 20, 10, 5) == WaitSplit{.compute = 0, .queue = 5, .bandwidth = 10, .latency = 5});
  CHECK(split_receive_wait(42, times, 20, 10, 5) == WaitSplit{.compute = 0, .queue = 0, .bandwidth = 0, .latency = 3});
  CHECK(split_receive_wait(50, times, 20, 10, 5) == WaitSplit{});
}

TEST_CASE("§9.3: what sharing a link or a batch adds to a wait is queue") {
  const TransferTimes shared{.start = 30, .done = 50, .available = 55};  // alone it would take 10
  CHECK(split_receive_wait(20, shared, 30, 10, 5) ==
        WaitSplit{.compute = 10, .queue = 10, .bandwidth = 10, .latency = 5});
  const TransferTimes batched{.start = 30, .done = 40, .available = 60};
  CHECK(split_receive_wait(30, batched, 30, 10, 5) ==
        WaitSplit{.compute = 0, .queue = 15, .bandwidth = 10, .latency = 5});
  CHECK(split_send_wait(30, 60, batched.done, 10) ==
        WaitSplit{.compute = 0, .queue = 20, .bandwidth = 10, .latency = 0});
}

TEST_CASE("§9.3: the main cause of a wait is its largest part; of equal ones the one nearest to its end") {
  CHECK(main_cause({.compute = 3, .queue = 1, .bandwidth = 2, .latency = 0}) == IdleCause::kCompute);
  CHECK(main_cause({.compute = 3, .queue = 3, .bandwidth = 2, .latency = 0}) == IdleCause::kTransferQueue);
  CHECK(main_cause({.compute = 2, .queue = 1, .bandwidth = 2, .latency = 2}) == IdleCause::kTransferLatency);
}

TEST_SUITE_END();
