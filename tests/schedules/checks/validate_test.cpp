#include "schedules/checks/validate.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "schedules/catalogue/registry.hpp"
#include "schedules/document/schedule_io.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/lines.hpp"
#include "tests/support/written_schedule.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

std::string violations(const Schedule& schedule) {
  std::string text;
  for (const Violation& violation : validate(schedule)) text += to_string(violation) + "\n";
  return text;
}

/// The first violation only.
std::string first_violation(const Schedule& schedule) {
  const auto found = validate(schedule);
  return found.empty() ? "" : to_string(found.front());
}

/// Two stages on two devices, two updates of two microbatches.
Schedule two_updates(const std::string& first, const std::string& second) {
  Schedule schedule = written_schedule({first, second}, 4);
  schedule.microbatches_per_update = {2};
  return schedule;
}

}  // namespace

TEST_CASE("a small correct schedule has no violations") {
  CHECK(violations(written_schedule({"0F0 0F1 0B0 0B1", "1F0 1B0 1F1 1I1 1W1"}, 2)).empty());
}

TEST_CASE("§2.5: a backward before its forward is named with device and position") {
  CHECK(violations(written_schedule({"0B0 0F0", "1F0 1B0"}, 1)) ==
        lines({"device 0, position 0: 0B0: runs before 0F0"}));
}

TEST_CASE(
    "a copy without work in an update is told where it reduces with another one, whom its group does not leave out") {
  // Two copies of one stage, each on a device of its own; every update has a microbatch for one of them.
  Schedule schedule = written_schedule({"0F0 0B0", "1:0F1 1:0B1"}, 2);
  schedule.num_stages = 1;
  schedule.microbatches_per_update = {1};
  schedule.placement = {{{DeviceId{0}}}, {{DeviceId{1}}}};
  const auto told = [&](const std::vector<std::vector<DeviceId>>& groups) {
    schedule.reduce_groups = groups;
    std::int64_t count = 0;
    const std::string text = violations(schedule);
    for (std::size_t at = text.find("has no backward on the device"); at != std::string::npos;
         at = text.find("has no backward on the device", at + 1)) {
      ++count;
    }
    return count;
  };
  CHECK(told({}) == 2);
  CHECK(told({{DeviceId{0}, DeviceId{1}}}) == 2);
  CHECK(told({{DeviceId{0}}, {DeviceId{1}}}) == 0);  // nobody to reduce with
  CHECK(told({{DeviceId{0}}}) == 0);
  schedule.microbatches_per_update = {2};  // then both have work in the only update
  CHECK(told({}) == 0);
}

TEST_CASE("all violations come at once, in order of device and position") {
  CHECK(violations(written_schedule({"0F0 0F0 0B0 0F9 7F0 3:0F0", "1W0 0F1 1F0 1B0 1I0"}, 2)) ==
        lines({"device 0, position 0: microbatch 1 is in no list; expected it on every stage",
               "device 0, position 1: 0F0: runs a second time; expected once",
               "device 0, position 3: 0F9: microbatch out of range; expected 0 .. 1",
               "device 0, position 4: 7F0: stage out of range; expected 0 .. 1",
               "device 0, position 5: 3:0F0: replica out of range; expected 0 .. 0",
               "device 1, position 0: 1W0: runs before 1I0",
               "device 1, position 1: 0F1: device 1 does not hold the stage; expected on device 0",
               "device 1, position 4: 1I0: the backward of this microbatch has run already; expected B, or I and W"}));
}

TEST_CASE("missing actions are named where they should be") {
  CHECK(violations(written_schedule({"0F0 0B0 0F1", "1F0 1I0 1F1 1I1 1W1"}, 2)) ==
        lines({"device 0, position 3: 0B1: is missing", "device 1, position 5: 1W0: is missing"}));
}

TEST_CASE("a deadlock is named by its cycle") {
  CHECK(violations(written_schedule({"0F0 0B0 0F1 0B1", "1F0 1F1 1B0 1B1"}, 2)) ==
        lines({"device 0, position 1: 0B0: deadlock: 0B0 on device 0 waits for 1B0 on device 1, which comes after 1F1; "
               "1F1 on device 1 waits for 0F1 on device 0, which comes after 0B0"}));
}

TEST_CASE("the halves of a pair do not wait for each other, in either order, on any stage, slice or microbatch") {
  const auto in_a_pair = [](const char* list, const char* first, const char* second) {
    Schedule schedule = written_schedule({std::string(list) + " 0F0 0F1 1F0 1F1"}, 2);
    schedule.num_stages = 2;
    schedule.placement[0].push_back({DeviceId{0}});
    schedule.slices = Slices{Slices::Axis::kSequence, {{1, 1}}};
    schedule.recompute = {{.first_stage = 0, .last_stage = 1}};
    const std::string found = violations(schedule);
    const std::string reason =
        std::string(second) + ": is in a pair with " + first + "; expected two actions that do not wait for each other";
    return found.find(reason) != std::string::npos;
  };
  CHECK(in_a_pair("(0F0;0B0)OVERLAP_F_B", "0F0", "0B0"));
  CHECK(in_a_pair("(0F0;0I0)OVERLAP", "0F0", "0I0"));
  CHECK(in_a_pair("(0F0;1F0)OVERLAP", "0F0", "1F0"));
  CHECK(in_a_pair("(1F0;0F0)OVERLAP", "1F0", "0F0"));
  CHECK(in_a_pair("(0F0.0;0F0.1)OVERLAP", "0F0.0", "0F0.1"));
  CHECK(in_a_pair("(0B0.0;0B0.1)OVERLAP", "0B0.0", "0B0.1"));
  CHECK(in_a_pair("(1I0;0B0)OVERLAP", "1I0", "0B0"));
  CHECK(in_a_pair("(0I0;0W0)OVERLAP", "0I0", "0W0"));
  CHECK(in_a_pair("(0F0;0R0)OVERLAP", "0F0", "0R0"));
  CHECK(in_a_pair("(0R0;0B0)OVERLAP", "0R0", "0B0"));
  CHECK(in_a_pair("(0F0+1;1F1)OVERLAP", "0F0+1", "1F1"));
  CHECK_FALSE(in_a_pair("(0F0;0F1)OVERLAP", "0F0", "0F1"));
  CHECK_FALSE(in_a_pair("(0F0;1F1)OVERLAP", "0F0", "1F1"));
  CHECK_FALSE(in_a_pair("(0F0.0;1F0.1)OVERLAP", "0F0.0", "1F0.1"));
}

TEST_CASE("a pair whose halves wait for each other through another device is a deadlock") {
  Schedule schedule = written_schedule({"(0F0;2F0)OVERLAP 2B0 0B0", "1F0 1B0"}, 1);
  schedule.num_stages = 3;
  schedule.placement[0].push_back({DeviceId{0}});
  CHECK(violations(schedule) ==
        lines({"device 0, position 0: 0F0: deadlock: (0F0;2F0)OVERLAP on device 0 waits for 1F0 on device 1; 1F0 on "
               "device 1 waits for 0F0 on device 0"}));
}

TEST_CASE("any two passes that are there in time may be a pair") {
  CHECK(violations(written_schedule({"(0F0;0F1)OVERLAP 0I0 (0I1;0W0)OVERLAP (0F2;0W1)OVERLAP (0B2;0F3)OVERLAP 0B3"}, 4))
            .empty());
}

TEST_CASE("a half of a pair is a pass or extra work, and pairs do not chain") {
  CHECK(violations(written_schedule({"0F0 0B0 (0F1;0U0)OVERLAP 0B1 0U1"}, 2))
            .find("0U0: is the second half of an overlapped "
                  "pair; expected F, B, I, W, R or X") != std::string::npos);
  CHECK(violations(written_schedule({"0F0 0B0 (0U0;0X0)OVERLAP"}, 1))
            .find("0U0: is the first half of an overlapped pair; "
                  "expected F, B, I, W, R or X") != std::string::npos);
  Schedule chained = written_schedule({"0F0 0F1 0F2 0B0 0B1 0B2"}, 3);
  chained.devices[0].actions[0].overlaps_next = chained.devices[0].actions[1].overlaps_next = 1;
  CHECK(violations(chained) ==
        lines({"device 0, position 1: 0F1: is the second half of an overlapped pair and the first of "
               "another; expected pairs of two actions"}));
  Schedule cut = written_schedule({"0F0 0B0"}, 1);
  cut.devices[0].actions.back().overlaps_next = 1;
  CHECK(violations(cut) ==
        lines({"device 0, position 2: 0B0: is the first half of an overlapped pair without a second; "
               "expected one after it"}));
}

TEST_CASE("an update comes after the backwards it applies, in turn, and is not forgotten") {
  CHECK(violations(two_updates("0F0 0B0 0U0 0F1 0B1 0F2 0B2 0F3 0B3 0U1", "1F0 1B0 1F1 1B1 1U1 1F2 1B2 1F3 1B3 1U0")) ==
        lines({"device 0, position 4: 0B1: runs after 0U0, which applies its gradient",
               "device 1, position 4: 1U1: runs out of turn; expected 1U0",
               "device 1, position 5: 1F2: runs before 1U0; expected after it, the weight policy is flush",
               "device 1, position 7: 1F3: runs before 1U0; expected after it, the weight policy is flush",
               "device 1, position 10: 1U1: is missing; expected 2 on the device, found 1"}));
}

TEST_CASE("without flush a forward may run before the update of the microbatches before it") {
  Schedule schedule = two_updates("0F0 0F1 0F2 0B0 0B1 0U0 0F3 0B2 0B3 0U1", "1F0 1B0 1F1 1B1 1U0 1F2 1B2 1F3 1B3 1U1");
  CHECK(violations(schedule) ==
        lines({"device 0, position 2: 0F2: runs before 0U0; expected after it, the weight policy is flush"}));
  schedule.weights.policy = WeightPolicy::kLatest;
  CHECK(violations(schedule).empty());
}

TEST_CASE("a reduction stands between the last backward and the update") {
  CHECK(violations(written_schedule({"0F0 0REDUCE_GRAD 0B0 0U0"}, 1)) ==
        lines({"device 0, position 2: 0B0: runs after the 0REDUCE_GRAD that reduces its gradient"}));
  CHECK(violations(written_schedule({"0F0 0B0 0U0 0REDUCE_GRAD"}, 1)) ==
        lines({"device 0, position 2: 0U0: runs before the 0REDUCE_GRAD of its gradient"}));
  CHECK(violations(written_schedule({"0F0 0B0 0REDUCE_GRAD 0REDUCE_GRAD 0U0"}, 1)) ==
        lines({"device 0, position 3: 0REDUCE_GRAD: expected once for each of the 1 updates"}));
}

TEST_CASE("a microbatch belongs to one replica") {
  Schedule schedule = written_schedule({"0F0 0F1 0B1 0B0 0REDUCE_GRAD 1:0REDUCE_GRAD"}, 2);
  schedule.placement.push_back({{DeviceId{0}}});
  CHECK(violations(schedule).empty());
  schedule.devices[0].actions[2].replica = ReplicaId{1};
  CHECK(violations(schedule) ==
        lines({"device 0, position 2: 1:0B1: microbatch 1 already belongs to replica 0; expected one replica",
               "device 0, position 6: 0B1: is missing"}));
}

TEST_CASE("§2.2: a replicated stage takes its microbatches round robin") {
  Schedule schedule = written_schedule({"0F0 0F2 0B0 0B2", "0F1 0F3 0B1 0B3", "1F0 1B0 1F1 1B1 1F2 1B2 1F3 1B3"}, 4);
  schedule.num_stages = 2;
  schedule.placement = {{{DeviceId{0}, DeviceId{1}}, {DeviceId{2}}}};
  CHECK(violations(schedule).empty());
  std::swap(schedule.devices[0].actions[1], schedule.devices[1].actions[1]);
  CHECK(first_violation(schedule) ==
        "device 0, position 1: 0F3: microbatch 3 of the stage belongs to device 1 (round robin)");
}

TEST_CASE("merged microbatches count for each of theirs") {
  CHECK(violations(written_schedule({"0F0+1 0B0 0B1", "1F0+1 1B0 1B1"}, 2)).empty());
  CHECK(violations(written_schedule({"0F0+1 0F1 0B0+1"}, 2)) ==
        lines({"device 0, position 1: 0F1: runs a second time; expected once"}));
  CHECK(first_violation(written_schedule({"0F0+1+2 0B0+1"}, 2)) ==
        "device 0, position 0: 0F0+1+2: microbatch out of range; expected 0 .. 1");
}

TEST_CASE("slices: all of them, forward in order, backward in reverse") {
  Schedule schedule = written_schedule({"0F0.0 0F0.1 0B0.1 0B0.0", "1F0.0 1F0.1 1B0.1 1B0.0"}, 1);
  schedule.slices = Slices{Slices::Axis::kSequence, {{3, 5}}};
  CHECK(violations(schedule).empty());
  Schedule swapped = schedule;
  std::swap(swapped.devices[1].actions[2], swapped.devices[1].actions[3]);
  CHECK(violations(swapped) == lines({"device 1, position 2: 1B0.0: runs before 1B0.1"}));
  Schedule forwards = schedule;
  std::swap(forwards.devices[0].actions[0], forwards.devices[0].actions[1]);
  CHECK(violations(forwards) == lines({"device 0, position 0: 0F0.1: runs before 0F0.0"}));
  swapped.slices->axis = Slices::Axis::kBatch;
  swapped.devices[0].actions = {swapped.devices[0].actions[0], swapped.devices[0].actions[1],
                                swapped.devices[0].actions[3], swapped.devices[0].actions[2]};
  CHECK(violations(swapped).empty());
  schedule.devices[0].actions[1].slice = 2;
  CHECK(violations(schedule) ==
        lines({"device 0, position 1: 0F0.2: slice out of range; expected 0 .. 1",
               "device 0, position 2: 0B0.1: runs before 0F0", "device 0, position 4: 0F0.1: is missing"}));
}

TEST_CASE("all slices of a microbatch are recomputed, or none, and slices of a sequence move together") {
  const auto of_slices = [](const std::string& list) {
    Schedule schedule = written_schedule({list}, 1);
    schedule.slices = Slices{Slices::Axis::kSequence, {{1, 1}}};
    return violations(schedule);
  };
  CHECK(of_slices("0F0.0 0F0.1 0R0.1 0B0.1 0R0.0 0B0.0").empty());
  CHECK(of_slices("0F0.0 0F0.1 0R0.1 0B0.1 0B0.0") == lines({"device 0, position 5: 0R0.0: is missing"}));
  CHECK(of_slices("0F0.0 0F0.1 0EVICT0@host 0LOAD0@host 0B0.1 0B0.0").empty());
  CHECK(of_slices("0F0.0 0F0.1 0EVICT0.0@host 0B0.1 0LOAD0.0@host 0B0.0") ==
        lines({"device 0, position 2: 0EVICT0.0@host: other slices read its keys; expected all of them",
               "device 0, position 4: 0LOAD0.0@host: other slices read its keys; expected all of them"}));
}

TEST_CASE("a whole backward after forwards in slices waits for all of them") {
  Schedule schedule = written_schedule({"0F0.0 0F0.1 0B0", "1F0.0 1F0.1 1B0"}, 1);
  schedule.slices = Slices{Slices::Axis::kBatch, {{1, 1}}};
  CHECK(violations(schedule).empty());
}

TEST_CASE("explicit transfers must match and keep their order") {
  const Schedule good = written_schedule({"0F0 0SEND_F0 0F1 0SEND_F1 0B0 0B1", "1RECV_F0 1RECV_F1 1F0 1F1 1B0 1B1"}, 2);
  CHECK(violations(good).empty());
  CHECK(violations(written_schedule({"0F0 0SEND_F0 0F1 0SEND_F1 0B0 0B1", "1RECV_F1 1RECV_F0 1F0 1F1 1B0 1B1"}, 2)) ==
        lines({"device 1, position 0: 1RECV_F1: is number 0 received from device 0, whose number 0 sent is 0SEND_F0; "
               "expected the same order"}));
  CHECK(violations(written_schedule({"0F0 0SEND_F0 0F1 0B0 0B1", "1RECV_F0 1RECV_F1 1F0 1F1 1B0 1B1"}, 2)) ==
        lines({"device 1, position 1: 1RECV_F1: device 0 never sends it"}));
  CHECK(violations(written_schedule({"0SEND_F0 0F0 0B0", "1F0 1RECV_F0 1B0"}, 1)) ==
        lines({"device 0, position 0: 0SEND_F0: runs before 0F0",
               "device 1, position 1: 1RECV_F0: runs after 1F0; expected before it"}));
}

TEST_CASE("a send that stands too late makes a deadlock that the compute order alone does not have") {
  CHECK(
      violations(written_schedule({"0F0 0B0 0SEND_F0", "1RECV_F0 1F0 1B0"}, 1)) ==
      lines({"device 0, position 1: 0B0: deadlock: 0B0 on device 0 waits for the message of 1B0 from device 1 to "
             "device 0, not issued before the end of 1B0 on device 1, which comes after 1F0; 1F0 on device 1 waits for "
             "the message of 0F0 from device 0 to device 1, not issued before the end of 0U0 on device 0, which comes "
             "after 0B0"}));
}

TEST_CASE("extra edges are waited for") {
  Schedule schedule = written_schedule({"0F0 0B0", "1F0 1B0"}, 1);
  schedule.extra_edges = {{parse_action("1B0", ""), parse_action("0F0", "")}};
  CHECK(first_violation(schedule) ==
        "device 0, position 0: 0F0: deadlock: 0F0 on device 0 waits for 1B0 on device 1, which comes after "
        "1F0; 1F0 on device 1 waits for 0F0 on device 0");
  schedule.extra_edges = {{parse_action("1B7", ""), parse_action("0F0", "")}};
  CHECK(violations(schedule) == lines({"device 0, position 0: 1B7: extra_edges name it, but it is in no list"}));
}

TEST_CASE("extra work is declared and done once") {
  Schedule schedule = written_schedule({"0F0 0B0 0X1 0X1"}, 1);
  CHECK(first_violation(schedule) ==
        "device 0, position 2: 0X1: extra work is not declared; expected 'X1' under extras");
  schedule.extras["X1"].units = 0.5;
  CHECK(violations(schedule) == lines({"device 0, position 3: 0X1: runs a second time; expected once"}));
}

TEST_CASE("explicit recompute stands between the forward and the backward") {
  CHECK(violations(written_schedule({"0F0 0R0 0B0"}, 1)).empty());
  CHECK(violations(written_schedule({"0F0 0B0 0R0"}, 1)) ==
        lines({"device 0, position 2: 0R0: runs after 0B0; expected before it"}));
}

TEST_CASE("SPECIFICATION §4.4: a merged action recomputes all of its microbatches, or none") {
  const auto with_rule = [](const char* list, std::vector<std::int32_t> microbatches) {
    Schedule schedule = written_schedule({list}, 2);
    schedule.recompute = {{.first_stage = 0, .last_stage = 0, .microbatches = std::move(microbatches)}};
    return violations(schedule);
  };
  CHECK(with_rule("0F0+1 0B0+1", {}).empty());
  CHECK(with_rule("0F0+1 0B0+1", {0, 1}).empty());
  CHECK(with_rule("0F0 0F1 0B0 0B1", {0}).empty());
  CHECK(with_rule("0F0 0F1 0B0+1", {0}) ==
        lines({"device 0, position 2: 0B0+1: some of its microbatches are recomputed, others are not; expected all or "
               "none of a merged action"}));
  CHECK(violations(written_schedule({"0F0+1 0R0+1 0B0+1"}, 2)).empty());
  CHECK(violations(written_schedule({"0F0+1 0R1 0B0 0B1"}, 2)) ==
        lines({"device 0, position 0: 0F0+1: some of its microbatches are recomputed, others are not; expected all or "
               "none of a merged action"}));
  CHECK(with_rule("0F0+1 0R1 0B0 0B1", {}).empty());
}

TEST_CASE("an evicted stash is loaded before the backward") {
  CHECK(violations(written_schedule({"0F0 0EVICT0@host 0LOAD0@host 0B0"}, 1)).empty());
  CHECK(violations(written_schedule({"0F0 0EVICT0@host 0B0"}, 1)) ==
        lines({"device 0, position 2: 0B0: runs before 0LOAD0"}));
}

TEST_CASE("in forward mode there are only forwards") {
  Schedule schedule = written_schedule({"0F0 0F1", "1F0 1F1 1B1"}, 2);
  schedule.forward_only = true;
  CHECK(violations(schedule) == lines({"device 1, position 2: 1B1: the mode is forward; expected no backward"}));
  schedule.devices[1].actions[2].op = Op::kR;
  CHECK(violations(schedule) == lines({"device 1, position 2: 1R1: the mode is forward; expected no recompute"}));
}

TEST_CASE("skip connections: a stage waits for all stages that feed it") {
  Schedule schedule = written_schedule({"0F0 0B0", "1F0 1B0", "2F0 2B0"}, 1);
  schedule.stage_edges = {{StageId{0}, StageId{1}}, {StageId{1}, StageId{2}}, {StageId{0}, StageId{2}}};
  CHECK(violations(schedule).empty());
  schedule.stage_edges->push_back({StageId{2}, StageId{0}});
  CHECK(violations(schedule) ==
        lines({"device 0, position 0: stage_edges form a cycle; expected a graph without one"}));
}

TEST_CASE("§5.8: stages that start together have devices of their own, and their passes stand alone on all of them") {
  Schedule schedule = written_schedule({"0F0 0F1 0B0 0B1", "1F0 1F1 1I0 1W0 1B1", "2F0 2B0 2F1 2B1"}, 2);
  schedule.stage_edges = {{StageId{0}, StageId{2}}};
  schedule.start_together = {{StageId{0}, StageId{1}}};
  CHECK(violations(schedule).empty());
  const auto with_groups = [&](std::vector<std::vector<StageId>> groups) {
    Schedule changed = schedule;
    changed.start_together = std::move(groups);
    return violations(changed);
  };
  CHECK(with_groups({{StageId{0}}}) ==
        lines({"device 0, position 0: start_together: a list of 1 stages; expected at least 2"}));
  CHECK(with_groups({{StageId{0}, StageId{1}}, {StageId{1}, StageId{2}}}) ==
        lines({"device 0, position 0: start_together: names stage 1 twice"}));
  Schedule near = schedule;
  near.placement[0][1] = {DeviceId{0}};
  CHECK(violations(near) == lines({"device 0, position 0: start_together: stage 1 is on device 0, as another stage of "
                                   "its list; expected one of its own"}));
  near.placement[0][1] = {DeviceId{1}, DeviceId{2}};
  CHECK(violations(near) == lines({"device 0, position 0: start_together: stage 1 is on 2 devices; expected one"}));
  Schedule paired = schedule;
  paired.devices[0].actions[1].overlaps_next = 1;
  CHECK(violations(paired) ==
        lines({"device 0, position 1: 0F1: starts together with passes of other devices; expected no overlapped pair",
               "device 0, position 2: 0B0: starts together with passes of other devices; expected no overlapped pair",
               "device 1, position 1: 1F1: starts together with 0 passes of other devices; expected 1, cut into the "
               "same slices",
               "device 1, position 2: 1I0: starts together with 0 passes of other devices; expected 1, cut into the "
               "same slices"}));
  Schedule crossed = schedule;
  std::swap(crossed.devices[1].actions[0], crossed.devices[1].actions[1]);
  CHECK(first_violation(crossed).find("wait") != std::string::npos);
}

TEST_CASE("§1.5: absurd sizes are refused before anything is expanded") {
  Schedule schedule = written_schedule({"0F0 0B0"}, 2'000'000'000);
  CHECK(first_violation(schedule) ==
        "device 0, position 0: the lists hold 2 actions; expected an action for each of 1 stages and 2000000000 "
        "microbatches");
  // A typo names a microbatch that no other list has: it is told where it stands.
  CHECK(
      first_violation(written_schedule({"0F0 0F1 0B0 0B1", "1F0 1F9 1B0 1B1"}, 10)) ==
      "device 1, position 1: 1F9: names the last of 10 microbatches, but the lists hold 8 actions; expected an action "
      "for each of 2 stages and 10 microbatches");
  const Schedule huge = generate("1f1b", {.num_devices = 8, .num_microbatches = 1'000'000'000});
  CHECK(error_message([&] { validate(huge); }) ==
        "schedule '1f1b': 16000000008 actions; expected at most 268435456 to check");
  // Exactly 2^28 + 2 actions: 2^26 microbatches on 2 devices, and an update on each.
  const Schedule above = generate("gpipe", {.num_devices = 2, .num_microbatches = std::int64_t{1} << 26U});
  CHECK(error_message([&] { check_document(above); }) ==
        "schedule 'gpipe': 268435458 actions; expected at most 268435456 to check");
}

TEST_CASE("a hopeless document is cut off and says how much more there is") {
  Schedule schedule = written_schedule({"0F0"}, 1);
  schedule.devices[0].repeats = {{0, 1, 50'000, {}}};
  const auto found = validate(schedule);
  REQUIRE(found.size() == 10'001);
  CHECK(found.back().reason == "and 40000 more violations");
}

}  // namespace plumb::testing

TEST_SUITE_END();
