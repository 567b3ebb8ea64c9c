#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "schedules/lowering/lower.hpp"
#include "schedules/program/check_program.hpp"
#include "schedules/program/program_text.hpp"
#include "tests/support/lines.hpp"
#include "tests/support/written_schedule.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

/// Every stage gives 8 bytes forward and 4 backward.
StageCosts message_costs(const Schedule& schedule) {
  StageCosts costs;
  const auto stages = static_cast<std::size_t>(schedule.num_stages);
  costs.times.assign(stages, StageTimes{.f = 12, .b = 24, .i = 12, .w = 12, .r = 12, .u = 5});
  costs.memory.assign(stages, StageMemory{.weight_bytes = 100, .output_bytes = 8, .input_grad_bytes = 4});
  return costs;
}

Cluster message_cluster(std::int32_t devices) {
  Cluster cluster;
  cluster.devices.resize(static_cast<std::size_t>(devices));
  cluster.devices_per_node = devices;
  cluster.intra_node = {.latency_ns = 100, .bytes_per_s = 1e9};
  cluster.finish();
  return cluster;
}

Program lowered_messages(const Schedule& schedule, const LowerOptions& options = {}) {
  const Cluster cluster = message_cluster(schedule.num_devices);
  Program program = lower(schedule, message_costs(schedule), &cluster, options);
  CHECK(check_program(program) == std::vector<std::string>{});
  return program;
}

/// The lines of the messages, without those of the lanes.
std::string messages(const Schedule& schedule, const LowerOptions& options = {}) {
  std::string text = program_to_text(lowered_messages(schedule, options));
  for (std::int32_t device = 0; device < schedule.num_devices; ++device) text.erase(0, text.find('\n') + 1);
  return text;
}

const std::vector<std::string> kThree{"0F0 0F1 0F2 0B0 0B1 0B2", "1F0 1B0 1F1 1B1 1F2 1B2"};

}  // namespace

TEST_CASE("with one send buffer a message is waited for before the next value of its channel is made") {
  CHECK(messages(written_schedule(kThree, 3), {.send_buffers = 1}) ==
        lines({"d0>d1 SEND_F 0F0 -> 1F0, issued 0F0, posted 1F0, sent 0F1, 8 bytes",
               "d0>d1 SEND_F 0F1 -> 1F1, issued 0F1, posted 1B0, sent 0F2, 8 bytes",
               "d0>d1 SEND_F 0F2 -> 1F2, issued 0F2, posted 1B1, sent end, 8 bytes",
               "d1>d0 SEND_B 1B0 -> 0B0, issued 1B0, posted 0F2, sent 1B1, 4 bytes",
               "d1>d0 SEND_B 1B1 -> 0B1, issued 1B1, posted 0B0, sent 1B2, 4 bytes",
               "d1>d0 SEND_B 1B2 -> 0B2, issued 1B2, posted 0B1, sent end, 4 bytes"}));
}

TEST_CASE("with three send buffers, or none at all, the sender waits as if it had three, or one") {
  CHECK(messages(written_schedule(kThree, 3), {.send_buffers = 3}) ==
        lines({"d0>d1 SEND_F 0F0 -> 1F0, issued 0F0, posted 1F0, sent end, 8 bytes",
               "d0>d1 SEND_F 0F1 -> 1F1, issued 0F1, posted 1B0, sent end, 8 bytes",
               "d0>d1 SEND_F 0F2 -> 1F2, issued 0F2, posted 1B1, sent end, 8 bytes",
               "d1>d0 SEND_B 1B0 -> 0B0, issued 1B0, posted 0F2, sent end, 4 bytes",
               "d1>d0 SEND_B 1B1 -> 0B1, issued 1B1, posted 0B0, sent end, 4 bytes",
               "d1>d0 SEND_B 1B2 -> 0B2, issued 1B2, posted 0B1, sent end, 4 bytes"}));
  CHECK(messages(written_schedule(kThree, 3), {.send_buffers = 0}) ==
        messages(written_schedule(kThree, 3), {.send_buffers = 1}));
}

TEST_CASE("explicit sends and receives of gradients decide their places and the order of their channel") {
  CHECK(messages(written_schedule(
            {"0F0 0F1 0F2 0RECV_B1 0RECV_B0 0B1 0B0 0B2", "1F0 1F1 1F2 1B0 1B1 1SEND_B1 1SEND_B0 1B2"}, 3)) ==
        lines({"d0>d1 SEND_F 0F0 -> 1F0, issued 0F0, posted 1F0, sent 0F2, 8 bytes",
               "d0>d1 SEND_F 0F1 -> 1F1, issued 0F1, posted 1F0, sent end, 8 bytes",
               "d0>d1 SEND_F 0F2 -> 1F2, issued 0F2, posted 1F1, sent end, 8 bytes",
               "d1>d0 SEND_B 1B1 -> 0B1, issued 1B1, posted 0B1, sent 1B2, 4 bytes",
               "d1>d0 SEND_B 1B0 -> 0B0, issued 1B1, posted 0B1, sent end, 4 bytes",
               "d1>d0 SEND_B 1B2 -> 0B2, issued 1B2, posted 0B0, sent end, 4 bytes"}));
}

TEST_CASE("explicit receives of activations are posted where they stand, whatever the placement of the others") {
  for (const ReceivePlacement receives : {ReceivePlacement::kAhead, ReceivePlacement::kLate}) {
    const std::string text =
        messages(written_schedule({"0F0 0F1 0B0 0B1", "1RECV_F0 1RECV_F1 1F0 1F1 1B0 1B1"}, 2), {.receives = receives});
    CHECK(text.starts_with(lines({"d0>d1 SEND_F 0F0 -> 1F0, issued 0F0, posted 1F0, sent end, 8 bytes",
                                  "d0>d1 SEND_F 0F1 -> 1F1, issued 0F1, posted 1F0, sent end, 8 bytes"})));
  }
}

TEST_CASE("a message carries what its two ends have in common of merged microbatches and of slices") {
  CHECK(messages(written_schedule({"0F0 0F1 0F2 0F3 0B0+1+2 0B3", "1F0+1 1F2+3 1B0 1B1+2+3"}, 4)) ==
        lines({"d0>d1 SEND_F 0F0 -> 1F0+1, issued 0F0, posted 1F0+1, sent 0F2, 8 bytes",
               "d0>d1 SEND_F 0F1 -> 1F0+1, issued 0F1, posted 1F0+1, sent 0F3, 8 bytes",
               "d0>d1 SEND_F 0F2 -> 1F2+3, issued 0F2, posted 1F0+1, sent end, 8 bytes",
               "d0>d1 SEND_F 0F3 -> 1F2+3, issued 0F3, posted 1F0+1, sent end, 8 bytes",
               "d1>d0 SEND_B 1B0 -> 0B0+1+2, issued 1B0, posted 0F3, sent 1B1+2+3, 4 bytes",
               "d1>d0 SEND_B 1B1+2+3 -> 0B0+1+2, issued 1B1+2+3, posted 0F3, sent end, 8 bytes",
               "d1>d0 SEND_B 1B1+2+3 -> 0B3, issued 1B1+2+3, posted 0B0+1+2, sent end, 4 bytes"}));
}

TEST_CASE("slices of a microbatch are messages of their own, and a whole one waits for all of its slices") {
  Schedule schedule = written_schedule({"0F0.0 0F0.1 0B0.1 0B0.0", "1F0 1B0.1 1B0.0"}, 1);
  schedule.slices = Slices{Slices::Axis::kSequence, {{1, 3}}};
  CHECK(messages(schedule) == lines({"d0>d1 SEND_F 0F0.0 -> 1F0, issued 0F0.0, posted 1F0, sent end, 2 bytes",
                                     "d0>d1 SEND_F 0F0.1 -> 1F0, issued 0F0.1, posted 1F0, sent end, 6 bytes",
                                     "d1>d0 SEND_B 1B0.1 -> 0B0.1, issued 1B0.1, posted 0F0.1, sent end, 3 bytes",
                                     "d1>d0 SEND_B 1B0.0 -> 0B0.0, issued 1B0.0, posted 0B0.1, sent end, 1 bytes"}));
}

TEST_CASE("an overlapped pair is one place: its sends are issued behind it, its receives posted before it") {
  CHECK(messages(written_schedule({"0F0 0F1 (0F2;0B0)OVERLAP_F_B 0B1 0B2", "1F0 (1B0;1F1)OVERLAP 1B1 1F2 1B2"}, 3),
                 {.send_buffers = 1}) == lines({"d0>d1 SEND_F 0F0 -> 1F0, issued 0F0, posted 1F0, sent 0F1, 8 bytes",
                                                "d0>d1 SEND_F 0F1 -> 1F1, issued 0F1, posted 1F0, sent 0F2, 8 bytes",
                                                "d0>d1 SEND_F 0F2 -> 1F2, issued 0F2, posted 1B1, sent end, 8 bytes",
                                                "d1>d0 SEND_B 1B0 -> 0B0, issued 1B0, posted 0F1, sent 1B1, 4 bytes",
                                                "d1>d0 SEND_B 1B1 -> 0B1, issued 1B1, posted 0F2, sent 1B2, 4 bytes",
                                                "d1>d0 SEND_B 1B2 -> 0B2, issued 1B2, posted 0B1, sent end, 4 bytes"}));
}

TEST_CASE("receives late and on send stand before their consumers, and where their sends were issued") {
  CHECK(messages(written_schedule(kThree, 3), {.receives = ReceivePlacement::kLate}) ==
        lines({"d0>d1 SEND_F 0F0 -> 1F0, issued 0F0, posted 1F0, sent 0F2, 8 bytes",
               "d0>d1 SEND_F 0F1 -> 1F1, issued 0F1, posted 1F1, sent end, 8 bytes",
               "d0>d1 SEND_F 0F2 -> 1F2, issued 0F2, posted 1F2, sent end, 8 bytes",
               "d1>d0 SEND_B 1B0 -> 0B0, issued 1B0, posted 0B0, sent 1B2, 4 bytes",
               "d1>d0 SEND_B 1B1 -> 0B1, issued 1B1, posted 0B1, sent end, 4 bytes",
               "d1>d0 SEND_B 1B2 -> 0B2, issued 1B2, posted 0B2, sent end, 4 bytes"}));
  CHECK(messages(written_schedule(kThree, 3), {.receives = ReceivePlacement::kOnSend}) ==
        lines({"d0>d1 SEND_F 0F0 -> 1F0, issued 0F0, posted 1F0, sent 0F2, 8 bytes",
               "d0>d1 SEND_F 0F1 -> 1F1, issued 0F1, posted 1B0, sent end, 8 bytes",
               "d0>d1 SEND_F 0F2 -> 1F2, issued 0F2, posted 1F1, sent end, 8 bytes",
               "d1>d0 SEND_B 1B0 -> 0B0, issued 1B0, posted 0F2, sent 1B2, 4 bytes",
               "d1>d0 SEND_B 1B1 -> 0B1, issued 1B1, posted 0B1, sent end, 4 bytes",
               "d1>d0 SEND_B 1B2 -> 0B2, issued 1B2, posted 0B2, sent end, 4 bytes"}));
}

TEST_CASE("a value that two devices take is two messages, and an explicit send names the device that it is for") {
  Schedule schedule =
      written_schedule({"0F0 0SEND_F0>2 0F1 0SEND_F0>1 0B0 0B1", "1F0 1F1 1B0 1B1", "2F0 2F1 2B0 2B1"}, 2);
  schedule.stage_edges = {{{StageId{0}, StageId{1}}, {StageId{0}, StageId{2}}}};
  CHECK(messages(schedule) == lines({"d0>d2 SEND_F 0F0 -> 2F0, issued 0F0, posted 2F0, sent end, 8 bytes",
                                     "d0>d1 SEND_F 0F1 -> 1F1, issued 0F1, posted 1F0, sent end, 8 bytes",
                                     "d0>d2 SEND_F 0F1 -> 2F1, issued 0F1, posted 2F0, sent end, 8 bytes",
                                     "d0>d1 SEND_F 0F0 -> 1F0, issued 0F1, posted 1F0, sent end, 8 bytes",
                                     "d1>d0 SEND_B 1B0 -> 0B0, issued 1B0, posted 0F1, sent end, 4 bytes",
                                     "d1>d0 SEND_B 1B1 -> 0B1, issued 1B1, posted 0B0, sent end, 4 bytes",
                                     "d2>d0 SEND_B 2B0 -> 0B0, issued 2B0, posted 0F1, sent end, 4 bytes",
                                     "d2>d0 SEND_B 2B1 -> 0B1, issued 2B1, posted 0B0, sent end, 4 bytes"}));
}

TEST_CASE("copies of a stage take their microbatches from one sender, each over a channel of its own") {
  Schedule schedule = written_schedule({"0F0 0F1 0B0 0B1", "1F0 1B0", "1F1 1B1"}, 2);
  schedule.num_stages = 2;
  schedule.placement = {{{DeviceId{0}}, {DeviceId{1}, DeviceId{2}}}};
  CHECK(messages(schedule) == lines({"d0>d1 SEND_F 0F0 -> 1F0, issued 0F0, posted 1F0, sent end, 8 bytes",
                                     "d0>d2 SEND_F 0F1 -> 1F1, issued 0F1, posted 1F1, sent end, 8 bytes",
                                     "d1>d0 SEND_B 1B0 -> 0B0, issued 1B0, posted 0F1, sent end, 4 bytes",
                                     "d2>d0 SEND_B 1B1 -> 0B1, issued 1B1, posted 0B0, sent end, 4 bytes",
                                     "collective 0: d1 1REDUCE_GRAD d2 1REDUCE_GRAD, 0 bytes, 200 ticks"}));
}

TEST_CASE("values between stages of one device are waited for in its lane, and are no messages") {
  Schedule schedule = written_schedule({"0F0 3F0 3B0 0B0", "1F0 2F0 2B0 1B0"}, 1);
  schedule.num_stages = 4;
  schedule.placement = {{{DeviceId{0}}, {DeviceId{1}}, {DeviceId{1}}, {DeviceId{0}}}};
  CHECK(program_to_text(lowered_messages(schedule)) ==
        lines({"d0: 0F0 3F0{2F0} 3B0 0B0{1B0} 0U0 3U0", "d1: 1F0{0F0} 2F0 2B0{3B0} 1B0 1U0 2U0",
               "d0>d1 SEND_F 0F0 -> 1F0, issued 0F0, posted 1F0, sent end, 8 bytes",
               "d0>d1 SEND_B 3B0 -> 2B0, issued 3B0, posted 2F0, sent end, 4 bytes",
               "d1>d0 SEND_F 2F0 -> 3F0, issued 2F0, posted 0F0, sent end, 8 bytes",
               "d1>d0 SEND_B 1B0 -> 0B0, issued 1B0, posted 3B0, sent end, 4 bytes"}));
}

TEST_CASE("blocks of several devices start together: each of them waits for what all of them wait for") {
  Schedule schedule = written_schedule({"0F0 0F1 0B0 0B1", "1F0 1F1 1B0 1B1", "2F0 2F1 2B0 2B1"}, 2);
  schedule.stage_edges = {{{StageId{0}, StageId{1}}, {StageId{0}, StageId{2}}}};
  schedule.start_together = {{StageId{1}, StageId{2}}};
  CHECK(program_to_text(lowered_messages(schedule, {.send_buffers = 1})) ==
        lines({"d0: 0F0 0F1 0B0{1B0 2B0} 0B1{1B1 2B1} 0U0", "d1: 1F0{0F0 0F0} 1F1{0F1 0F1 2F0} 1B0{2F1} 1B1{2B0} 1U0",
               "d2: 2F0{0F0 0F0} 2F1{0F1 0F1 1F0} 2B0{1F1} 2B1{1B0} 2U0",
               "d0>d1 SEND_F 0F0 -> 1F0, issued 0F0, posted 1F0, sent 0F1, 8 bytes",
               "d0>d2 SEND_F 0F0 -> 2F0, issued 0F0, posted 2F0, sent 0F1, 8 bytes",
               "d0>d1 SEND_F 0F1 -> 1F1, issued 0F1, posted 1F0, sent end, 8 bytes",
               "d0>d2 SEND_F 0F1 -> 2F1, issued 0F1, posted 2F0, sent end, 8 bytes",
               "d1>d0 SEND_B 1B0 -> 0B0, issued 1B0, posted 0F1, sent 1U0, 4 bytes",
               "d1>d0 SEND_B 1B1 -> 0B1, issued 1B1, posted 0B0, sent end, 4 bytes",
               "d2>d0 SEND_B 2B0 -> 0B0, issued 2B0, posted 0F1, sent 2U0, 4 bytes",
               "d2>d0 SEND_B 2B1 -> 0B1, issued 2B1, posted 0B0, sent end, 4 bytes"}));
}

TEST_CASE("who starts together must be there: a block without one of its devices is refused") {
  Schedule schedule = written_schedule({"0F0 0B0", "1F0 1B0", "2B0"}, 1);
  schedule.stage_edges = {{{StageId{0}, StageId{1}}, {StageId{0}, StageId{2}}}};
  schedule.start_together = {{StageId{1}, StageId{2}}};
  CHECK_THROWS_WITH_AS(lowered_messages(schedule), "1F0 starts together with 0 others; expected 1", CannotRun);
}

}  // namespace plumb::testing

TEST_SUITE_END();
