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

  // One microbatch per update: replica 1 takes part in the reduction of update 0 without a backward of its own.
  schedule = written_schedule({"0F0 0B0 0U0 0U1", "1:0F1 1:0B1 1:0U0 1:0U1"}, 2);
  schedule.num_stages = 1;
  schedule.placement = {{{DeviceId{0}}}, {{DeviceId{1}}}};
  schedule.microbatches_per_update = {1};
  const std::string refused = texts_of(validate(schedule));
  CHECK(refused.find("reduces 1 times and updates 2 times") != std::string::npos);
  StageCosts costs;
  costs.times.resize(1);
  CHECK_THROWS_AS(lower(schedule, costs), CannotRun);
}

TEST_CASE("the exchange of a send and a receive on two devices runs in every mode but blocking") {
  const Schedule schedule = written_schedule({"0F0 0F1 0B0 0F2 0B1 0B2", "1F0 1B0 1F1 1B1 1F2 1B2"}, 3);
  CHECK(check_runs(schedule).empty());
  for (const TransferMode mode : kAll) {
    CAPTURE(static_cast<int>(mode));
    const std::vector<Violation> found = check_runs(schedule, std::array{mode});
    CHECK(found.empty() == (mode != TransferMode::kBlocking));
  }
  // 0F1 and 1B0 wait for each other to arrive; each is received one action ahead.
  const std::string blocked = texts_of(check_runs(schedule, kAll, {.receives = ReceivePlacement::kLate}));
  CHECK(blocked.find("transfers blocking: deadlock: ") != std::string::npos);
  CHECK(std::count(blocked.begin(), blocked.end(), '\n') == 1);
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
