#include "trainer/transport/mailbox.hpp"

#include <utility>

#include <doctest/doctest.h>

#include "tests/support/program_builder.hpp"

TEST_SUITE_BEGIN("trainer");

namespace plumb {
namespace {

constexpr Ticks kLinkLatency = 300;
constexpr std::int64_t kMessageBytes = 2000;
constexpr Ticks kOnLink = 2000;  ///< at a byte per nanosecond

/// Two messages from device 0 to device 1.
Program two_messages() {
  testing::ProgramBuilder builder(testing::ProgramBuilder::Lanes{{1, 1}, {1, 1}}, {kLinkLatency, 1e9, {}, false});
  builder.message({0, 0}, {1, 0}, kMessageBytes);
  builder.message({0, 1}, {1, 1}, kMessageBytes);
  return builder.build();
}

/// The mailbox of one thread, whose devices have the clocks of their processors: they move only by waits here.
struct ProcessorMailbox {
  explicit ProcessorMailbox(Program of) : program(std::move(of)) { mailbox.restore({}, program.lane_begin); }

  Ticks now(std::size_t device) { return clocks.of(device).now(); }

  Program program;
  RunClocks clocks{ClockKind::kProcessor, program.num_devices, 1};
  Mailbox mailbox{program, clocks, [](std::span<std::byte>, std::span<const std::byte>) {}, false};
};

}  // namespace

TEST_CASE("by processor time a receiver that waits goes on at the sender's moment plus what the link takes") {
  ProcessorMailbox run(two_messages());
  run.clocks.of(0).sleep_until(7000);
  run.mailbox.send(0, {});
  CHECK(run.mailbox.await(0) == TransferTimes{7000, 7000 + kOnLink, 7000 + kOnLink + kLinkLatency});
  CHECK(run.now(1) == 7000 + kOnLink + kLinkLatency);
  CHECK(run.now(0) == 7000);
}

TEST_CASE("by processor time a receiver that comes late does not wait, and a link sends one message after the other") {
  ProcessorMailbox run(two_messages());
  run.mailbox.send(0, {});
  run.mailbox.send(1, {});
  run.clocks.of(1).sleep_until(3000);
  CHECK(run.mailbox.await(0).available == kOnLink + kLinkLatency);
  CHECK(run.now(1) == 3000);
  CHECK(run.mailbox.await(1) == TransferTimes{kOnLink, 2 * kOnLink, 2 * kOnLink + kLinkLatency});
  CHECK(run.now(1) == 2 * kOnLink + kLinkLatency);
  run.mailbox.await_sent(0);
  CHECK(run.now(0) == kOnLink);
  run.mailbox.await_sent(1);
  CHECK(run.now(0) == 2 * kOnLink);
}

TEST_CASE("by processor time a collective ends at the latest of its members plus its price, whoever joins last") {
  for (const bool late_joins_first : {true, false}) {
    CAPTURE(late_joins_first);
    testing::ProgramBuilder builder(testing::ProgramBuilder::Lanes{{1}, {1}});
    builder.collective({{0, 0}, {1, 0}}, {0, 0}, 40);
    ProcessorMailbox run(builder.build());
    run.clocks.of(0).sleep_until(100);
    run.clocks.of(1).sleep_until(900);
    run.mailbox.join(0, late_joins_first ? 1 : 0, {});
    run.mailbox.join(0, late_joins_first ? 0 : 1, {});
    run.mailbox.await_reduced(0, DeviceId{0});
    CHECK(run.now(0) == 940);
    CHECK(run.mailbox.collective_ends().front() == 940);
  }
}

}  // namespace plumb

TEST_SUITE_END();
