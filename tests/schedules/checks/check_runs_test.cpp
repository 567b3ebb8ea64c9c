#include "schedules/checks/check_runs.hpp"

#include <algorithm>
#include <array>
#include <string>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "schedules/checks/validate.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/lowering/lower.hpp"
#include "schedules/runnability/deadlock.hpp"
#include "tests/support/lines.hpp"
#include "tests/support/written_schedule.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

std::string texts_of(const std::vector<Violation>& violations) {
  std::string text;
  for (const Violation& violation : violations) text += to_string(violation) + '\n';
  return text;
}

/// Two copies of a pipeline on the same devices.
Schedule two_replicas(const std::vector<std::string>& lists, std::int64_t microbatches) {
  Schedule schedule = written_schedule(lists, microbatches);
  schedule.placement.push_back(schedule.placement.front());
  return schedule;
}

constexpr std::array kAll{TransferMode::kBuffered, TransferMode::kFifo,    TransferMode::kRendezvous,
                          TransferMode::kBlocking, TransferMode::kBatched, TransferMode::kPairFifo};

}  // namespace

TEST_CASE("a collective whose members stand on one device in the wrong order is a deadlock") {
  CHECK(texts_of(validate(two_replicas({"0F0 0B0 1:0F1 1:0B1 0REDUCE_GRAD 0U0 1:0REDUCE_GRAD 1:0U0"}, 2))) ==
        lines({"device 0, position 5: 0U0: deadlock: 0U0 on device 0 waits for 1:0REDUCE_GRAD on device 0, which comes "
               "after 0U0"}));
  CHECK(validate(two_replicas({"0F0 0B0 1:0F1 1:0B1 0REDUCE_GRAD 1:0REDUCE_GRAD 0U0 1:0U0"}, 2)).empty());
}

TEST_CASE("collectives that two devices join in different orders are a deadlock with both devices in it") {
  CHECK(texts_of(validate(two_replicas({"0F0 1:0F1 0B0 1:0B1 0REDUCE_GRAD 0U0 1:0REDUCE_GRAD 1:0U0",
                                        "1F0 1B0 1:1F1 1:1B1 1REDUCE_GRAD 1:1REDUCE_GRAD 1U0 1:1U0"},
                                       2))) ==
        lines({"device 0, position 5: 0U0: deadlock: 0U0 on device 0 waits for 1:0REDUCE_GRAD on device 0, which comes "
               "after 0U0"}));
  Schedule crossed = written_schedule({"0F0 0B0 1:1F1 1:1B1 0REDUCE_GRAD 0U0 1:1REDUCE_GRAD 1:1U0",
                                       "1F0 1B0 1:0F1 1:0B1 1REDUCE_GRAD 1U0 1:0REDUCE_GRAD 1:0U0"},
                                      2);
  crossed.placement.push_back({{DeviceId{1}}, {DeviceId{0}}});
  CHECK(texts_of(check_runs(crossed)) ==
        lines({"device 0, position 5: 0U0: deadlock: 0U0 on device 0 waits for 1:0REDUCE_GRAD on device 1, which comes "
               "after 1U0; 1U0 on device 1 waits for 1:1REDUCE_GRAD on device 0, which comes after 0U0"}));
}

TEST_CASE("a reduction that stands later than others of its device is found by its number") {
  Schedule schedule = two_replicas(
      {"0F0 1:0F1 0B0 1:0B1 0REDUCE_GRAD 1:0REDUCE_GRAD 0U0 1:0U0 0F2 1:0F3 0B2 1:0B3 0REDUCE_GRAD 0U1 1:0REDUCE_GRAD "
       "1:0U1"},
      4);
  schedule.microbatches_per_update = {2};
  CHECK(
      texts_of(validate(schedule)) ==
      lines({"device 0, position 13: 0U1: deadlock: 0U1 on device 0 waits for 1:0REDUCE_GRAD on device 0, which comes "
             "after 0U1"}));
}

TEST_CASE("a holder without REDUCE_GRAD gets it where it ends a backward, and is refused where it has none") {
  Schedule schedule = written_schedule({"0F0 0B0 0REDUCE_GRAD 0U0", "1:0F1 1:0B1 1:0U0"}, 2);
  schedule.num_stages = 1;
  schedule.placement = {{{DeviceId{0}}}, {{DeviceId{1}}}};
  CHECK(validate(schedule).empty());

  // One microbatch per update: each replica takes part in a reduction for which it has no gradient.
  schedule = written_schedule({"0F0 0B0 0REDUCE_GRAD 0U0 0REDUCE_GRAD 0U1", "1:0F1 1:0B1"}, 2);
  schedule.num_stages = 1;
  schedule.placement = {{{DeviceId{0}}}, {{DeviceId{1}}}};
  schedule.microbatches_per_update = {1};
  CHECK(
      texts_of(validate(schedule)) ==
      lines({"device 1, position 2: 1:0REDUCE_GRAD: is missing; update 0 has no backward on the device, after which it "
             "could be added"}));
  StageCosts costs;
  costs.times.resize(1);
  CHECK_THROWS_AS(lower(schedule, costs), CannotRun);
  schedule.devices[1] = written_schedule({"1:0REDUCE_GRAD 1:0U0 1:0F1 1:0B1 1:0REDUCE_GRAD 1:0U1"}, 2).devices[0];
  CHECK(validate(schedule).empty());
  CHECK_NOTHROW(lower(schedule, costs));
}

TEST_CASE(
    "§6.9: two devices that both send first run in every mode in which the order of sends and receives is not theirs") {
  // Two copies of a pipeline, in opposite directions.
  Schedule schedule = written_schedule({"0F0 1:1F1 1:1B1 0B0", "1:0F1 1F0 1B0 1:0B1"}, 2);
  schedule.placement.push_back({{DeviceId{1}}, {DeviceId{0}}});
  CHECK(check_runs(schedule).empty());
  const auto fails_in = [&](ReceivePlacement receives) {
    std::vector<TransferMode> modes;
    for (const TransferMode mode : kAll) {
      const auto found = check_runs(schedule, std::array{mode}, {.receives = receives});
      if (!found.empty()) modes.push_back(mode);
    }
    return modes;
  };
  // Posted one action ahead, before the send, the receives come first in both queues; otherwise the sends do.
  CHECK(fails_in(ReceivePlacement::kAhead) == std::vector{TransferMode::kPairFifo});
  CHECK(fails_in(ReceivePlacement::kLate) == std::vector{TransferMode::kBlocking, TransferMode::kPairFifo});
  CHECK(
      texts_of(check_runs(schedule, kAll, {.receives = ReceivePlacement::kLate})) ==
      lines(
          {"device 0, position 1: 1:1F1: transfers blocking: deadlock: 1:1F1 on device 0 waits for the message of 0F0 "
           "from device 0 to device 1, whose receive is not posted before 1F0 on device 1; 1F0 on device 1 waits for "
           "the message of 1:0F1 from device 1 to device 0, whose receive is not posted before 1:1F1 on device 0",
           "device 0, position 1: 1:1F1: transfers pair-fifo: deadlock: the message of 0F0 from device 0 to device 1 "
           "is queued after the message of 1:0F1 from device 1 to device 0, queued after the message of 0F0 from "
           "device 0 to device 1"}));
}

TEST_CASE("an extra edge within a device's list is waited for, in every order") {
  Schedule schedule = written_schedule({"0F0 0F1 0B1 0B0"}, 2);
  schedule.extra_edges = {{parse_action("0F0", ""), parse_action("0F1", "")}};
  CHECK(validate(schedule).empty());
  schedule.extra_edges = {{parse_action("0F1", ""), parse_action("0F0", "")}};
  CHECK(texts_of(validate(schedule)) == lines({"device 0, position 0: 0F0: deadlock: 0F0 on device 0 waits for 0F1 on "
                                               "device 0, which comes after 0F0"}));
  Schedule pair = written_schedule({"(0F0;0F1)OVERLAP 0B1 0B0"}, 2);
  pair.extra_edges = schedule.extra_edges;
  CHECK(texts_of(validate(pair)).find("deadlock: (0F0;0F1)OVERLAP on device 0 waits for 0F1 on device 0") !=
        std::string::npos);
  std::swap(pair.extra_edges[0].before, pair.extra_edges[0].after);
  CHECK(texts_of(validate(pair)).find("deadlock: (0F0;0F1)OVERLAP on device 0 waits for 0F0 on device 0") !=
        std::string::npos);
}

TEST_CASE("an extra edge finds a merged action by each of its microbatches, and no transfer or collective") {
  Schedule schedule = written_schedule({"0F0+1 0B0+1 0REDUCE_GRAD", "1F0 1F1 1B1 1B0"}, 2);
  schedule.extra_edges = {{parse_action("0F1", ""), parse_action("1F0", "")}};
  CHECK(validate(schedule).empty());
  schedule.extra_edges = {{parse_action("0F1", ""), parse_action("1F0", ""), {StageId{7}}, {}}};
  CHECK(texts_of(validate(schedule)) ==
        lines({"device 0, position 0: 0F1: extra_edges carry weights or gradients here; expected X at both ends",
               "device 0, position 0: 0F1: extra_edges carry stage 7; expected at most 1"}));
  schedule.extra_edges = {{parse_action("0REDUCE_GRAD", ""), parse_action("1B0", "")}};
  CHECK(texts_of(validate(schedule)) == lines({"device 0, position 0: 0REDUCE_GRAD: extra_edges name it; expected an "
                                               "action that computes or moves a stash"}));
}

TEST_CASE("a stage that stands before the one it takes its value from, on one device, is a deadlock") {
  Schedule schedule = written_schedule({"1F0 0F0 1B0 0B0"}, 1);
  schedule.num_stages = 2;
  schedule.placement[0].push_back({DeviceId{0}});
  CHECK(texts_of(validate(schedule)) == lines({"device 0, position 0: 1F0: deadlock: 1F0 on device 0 waits for 0F0 on "
                                               "device 0, which comes after 1F0"}));
}

}  // namespace plumb::testing

TEST_SUITE_END();
