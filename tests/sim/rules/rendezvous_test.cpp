#include <doctest/doctest.h>

#include <string>

#include "schedules/lowering/lower.hpp"
#include "schedules/lowering/send_waits.hpp"
#include "schedules/runnability/deadlock.hpp"
#include "tests/support/program_builder.hpp"
#include "tests/support/written_schedule.hpp"

TEST_SUITE_BEGIN("sim");

using namespace plumb;
using plumb::testing::ProgramBuilder;

namespace {

/// Both devices send, then wait until that is over before they post what the other one sends.
Program exchange() {
  ProgramBuilder builder(ProgramBuilder::Lanes{{10, 10}, {10, 10}});
  builder.message({0, 0}, {1, 1}, 100).sent = builder.at({0, 1});
  builder.message({1, 0}, {0, 1}, 100).sent = builder.at({1, 1});
  return builder.build();
}

}  // namespace

TEST_CASE("§1.6: two devices that both send first hang where nothing is buffered, and nowhere else") {
  const Program program = exchange();
  CHECK(describe_deadlock(program, TransferMode::kBuffered).empty());
  CHECK(describe_deadlock(program, TransferMode::kFifo).empty());
  CHECK(describe_deadlock(program, TransferMode::kRendezvous) ==
        "transfers rendezvous: deadlock: 0F1 on device 0 waits for the message of 0F0 from device 0 to device 1, whose "
        "receive is not posted before 1F1 on device 1; 1F1 on device 1 waits for the message of 1F0 from device 1 to "
        "device 0, whose receive is not posted before 0F1 on device 0");
}

TEST_CASE("§6.6: lowering puts off the waits of an exchange, so that no document hangs by rendezvous") {
  Program program = exchange();
  CHECK_FALSE(lowering::runs_by_rendezvous(program));
  lowering::put_off_send_waits(program);
  CHECK(lowering::runs_by_rendezvous(program));
  CHECK(describe_deadlock(program, TransferMode::kRendezvous).empty());
}

TEST_CASE("§6.6: a document whose devices both send before they receive is lowered to what runs by rendezvous") {
  // Two copies of a pipeline, one in each direction; every list has its sends in front of its receives.
  Schedule schedule = testing::written_schedule(
      {"0F0 0SEND_F0 0F2 0SEND_F2 1:1RECV_F1 1:1F1 1:1B1 1:1SEND_B1 1:1RECV_F3 1:1F3 1:1B3 1:1SEND_B3 0RECV_B0 0B0 "
       "0RECV_B2 0B2 0U0 1:1U0",
       "1:0F1 1:0SEND_F1 1:0F3 1:0SEND_F3 1RECV_F0 1F0 1B0 1SEND_B0 1RECV_F2 1F2 1B2 1SEND_B2 1:0RECV_B1 1:0B1 "
       "1:0RECV_B3 1:0B3 1U0 1:0U0"},
      4);
  schedule.placement = {{{DeviceId{0}}, {DeviceId{1}}}, {{DeviceId{1}}, {DeviceId{0}}}};
  StageCosts costs;
  costs.times.assign(2, {.f = 10, .b = 20, .u = 1});
  costs.memory.resize(2);
  for (StageMemory& memory : costs.memory) memory.output_bytes = memory.input_grad_bytes = 8;
  Cluster cluster;
  cluster.devices.resize(2);
  cluster.devices_per_node = 2;
  cluster.intra_node = {.latency_ns = 2, .bytes_per_s = 2e9};
  cluster.finish();
  for (const ReceivePlacement receives :
       {ReceivePlacement::kAhead, ReceivePlacement::kLate, ReceivePlacement::kOnSend}) {
    const Program program = lower(schedule, costs, &cluster, {.receives = receives});
    CHECK(program.transfers.size() == 8);
    CHECK(describe_deadlock(program, TransferMode::kRendezvous).empty());
  }
}

TEST_SUITE_END();
