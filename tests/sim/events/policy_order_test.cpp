#include "sim/events/policy_order.hpp"
#include "schedules/document/policy_work.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "models/sources/abstract_costs.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/checks/validate.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/lowering/lower.hpp"
#include "sim/simulate.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/unrolled.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb {
namespace {

/// p devices in a line with a policy, `m` microbatches in each of 2 updates.
Schedule with_policy(std::int32_t p, std::int64_t m, const std::string& policy) {
  Schedule schedule = generate("1f1b", {.num_devices = p, .num_microbatches = m, .updates = 2});
  std::string text = schedule_to_json(schedule);
  text = text.substr(0, text.find("\"devices\": [")) + "\"policy\": " + policy + "}";
  return schedule_from_json(text, "policy.json");
}

Program lowered(const Schedule& schedule, const std::string& cost) {
  return lower(schedule, abstract_costs(cost, "", {.num_stages = schedule.num_stages}));
}

RunTimeOrder decided(const Schedule& schedule, const std::string& cost) {
  return policy_order(schedule, lowered(schedule, cost), 0);
}

std::vector<std::string> lists_of(const Schedule& schedule) {
  std::vector<std::string> texts;
  for (std::int64_t d = 0; d < schedule.num_devices; ++d) texts.push_back(testing::list_text(schedule, d));
  return texts;
}

}  // namespace

TEST_CASE("a document with a policy is valid, is written and read as it is, and stands for all of its work") {
  const Schedule schedule =
      with_policy(3, 4, R"({"choice": "arrival", "priorities": ["B", "F"], "limits": [3, 2, 1]})");
  CHECK(validate(schedule).empty());
  CHECK(schedule_from_json(schedule_to_json(schedule), "again.json") == schedule);
  CHECK(expanded_size(schedule.devices[0]) == 2 * (4 + 4 + 1));
}

TEST_CASE("backwards first with p - d microbatches at most is 1f1b") {
  for (const std::int32_t p : {1, 2, 4}) {
    std::string limits;
    for (std::int32_t d = 0; d < p; ++d) limits += (d > 0 ? ", " : "") + std::to_string(p - d);
    const Schedule schedule = with_policy(p, 6, R"({"priorities": ["B", "F"], "limits": [)" + limits + "]}");
    const Schedule order = decided(schedule, "F=1,B=2").schedule;
    const Schedule expected = generate("1f1b", {.num_devices = p, .num_microbatches = 6, .updates = 2});
    for (std::size_t d = 0; d < order.devices.size(); ++d) {
      CAPTURE(d);
      CHECK(expand(order.devices[d]) == expand(expected.devices[d]));
    }
  }
}

TEST_CASE("backwards first without a limit keeps a makespan no longer than gpipe's, and is valid with halves, too") {
  for (const std::string priorities : {R"(["B", "F"])", R"(["I", "F", "W"])", R"(["B", "R", "F"])"}) {
    CAPTURE(priorities);
    const Schedule schedule = with_policy(4, 8, R"({"priorities": )" + priorities + "}");
    const RunTimeOrder order = decided(schedule, "F=1,I=1,W=1");
    CHECK_FALSE(order.schedule.policy);
    CHECK(validate(order.schedule).empty());
    CHECK(simulate(lowered(order.schedule, "F=1,I=1,W=1")).makespan == order.makespan);
    CHECK(order.makespan <= simulate(lowered(schedule, "F=1,I=1,W=1")).makespan);
  }
}

TEST_CASE("other costs decide otherwise, and so does jitter") {
  const Schedule schedule = with_policy(4, 8, R"({"choice": "arrival", "priorities": ["B", "F"]})");
  const Schedule even = decided(schedule, "F=1,B=2").schedule;
  CHECK(decided(schedule, "F=1,B=2").schedule == even);
  CHECK(decided(schedule, "F=3,B=2,comm=1").schedule.devices != even.devices);
  Cluster cluster;
  DeviceSpec shaky;
  shaky.jitter = 0.5;
  cluster.devices.assign(4, shaky);
  cluster.devices_per_node = 4;
  cluster.finish();
  const StageCosts costs = abstract_costs("F=1,B=2", "", {.num_stages = 4});
  const Program program = lower(schedule, costs, &cluster);
  CHECK(policy_order(schedule, program, 1).schedule.devices != policy_order(schedule, program, 2).schedule.devices);
}

TEST_CASE("what devices decide by the rules of varuna and axonn are the lists that these freeze") {
  for (const auto& [name, limit] : std::vector<std::pair<std::string, std::int32_t>>{
           {"varuna", 0}, {"axonn", 0}, {"axonn", 1}, {"axonn", 2}, {"axonn", 7}}) {
    for (const std::string cost : {"F=1,B=2,R=1", "F=1,B=2,R=1,comm=0.5", "F=1,B=5,R=2", "F=3,B=1,R=2,comm=1"}) {
      for (const std::int32_t p : {1, 2, 3, 5, 8}) {
        for (const std::int64_t m : {1, 2, 5, 13}) {
          CAPTURE(name);
          CAPTURE(limit);
          CAPTURE(cost);
          CAPTURE(p);
          CAPTURE(m);
          ScheduleParams params{.num_devices = p, .num_microbatches = m};
          params.costs = [&](std::int32_t stages) { return abstract_costs(cost, "", {.num_stages = stages}); };
          if (limit > 0) params.options["limit"] = std::to_string(limit);
          const Schedule frozen = generate(name, params);
          params.options["order"] = "run-time";
          const Schedule rule = generate(name, params);
          CHECK(schedule_from_json(schedule_to_json(rule), "again.json") == rule);
          CHECK(lists_of(decided(rule, cost).schedule) == lists_of(frozen));
        }
      }
    }
  }
}

TEST_CASE("a policy rules several replicas, in line, against each other, or with stages on several devices") {
  const auto with = [](const std::string& placement, std::int32_t devices) {
    const std::string text = R"({"format": "plumbline-schedule", "version": 1, "name": "copies", "parameters": {},
      "num_stages": 2, "num_microbatches": 12, "microbatches_per_update": 6, "weights": {"policy": "flush"},
      "policy": {"priorities": ["B", "F"], "limits": 2}, "num_devices": )" +
                             std::to_string(devices) + R"(, "placement": )" + placement + "}";
    return schedule_from_json(text, "copies.json");
  };
  for (const auto& [placement, devices] : std::vector<std::pair<std::string, std::int32_t>>{
           {"[[[0], [1]], [[2], [3]]]", 4}, {"[[[0], [1]], [[1], [0]]]", 2}, {"[[[0, 1], [2]]]", 3}}) {
    CAPTURE(placement);
    const Schedule schedule = with(placement, devices);
    CHECK(validate(schedule).empty());
    const RunTimeOrder order = decided(schedule, "F=1,B=2");
    CHECK(validate(order.schedule).empty());
    CHECK(simulate(lowered(order.schedule, "F=1,B=2")).makespan == order.makespan);
    CHECK(order.makespan <= simulate(lowered(schedule, "F=1,B=2")).makespan);
    for (const DeviceList& list : order.schedule.devices) {
      std::int64_t kept = 0;
      for (const Action& action : expand(list)) {
        kept += action.op == Op::kF ? 1 : action.op == Op::kB ? -1 : 0;
        CHECK(kept <= 2);
      }
      CHECK(kept == 0);
    }
  }
}

TEST_CASE("backwards first with p - d microbatches at most, never flushed, is pipedream") {
  for (const std::int32_t p : {1, 2, 4}) {
    Schedule schedule = generate("pipedream", {.num_devices = p, .num_microbatches = 1, .updates = 12});
    const std::vector<std::string> expected = lists_of(schedule);
    RunTimePolicy policy;
    policy.priorities = {Op::kB, Op::kF};
    for (std::int32_t d = 0; d < p; ++d) policy.limits.push_back(p - d);
    schedule.policy = policy;
    REQUIRE(policy_fault(schedule).empty());
    schedule.devices = work_of_policy(schedule);
    CHECK(lists_of(decided(schedule, "F=1,B=2").schedule) == expected);
  }
}

TEST_CASE("forwards overtake the updates that their weight policy lets them, and no more") {
  const auto warm_up = [](const std::string& weights) {
    std::string text = schedule_to_json(generate("1f1b", {.num_devices = 4, .num_microbatches = 1, .updates = 8}));
    text = text.substr(0, text.find("\"devices\": [")) + R"("policy": {"priorities": ["B", "F"]}})";
    const std::string flush = R"({"policy": "flush"})";
    const Schedule schedule = schedule_from_json(text.replace(text.find(flush), flush.size(), weights), "policy.json");
    const Schedule order = decided(schedule, "F=1,B=2").schedule;
    CHECK(validate(order).empty());
    const std::vector<Action> actions = expand(order.devices[0]);
    return std::ranges::find(actions, Op::kU, &Action::op) - actions.begin() - 1;  // forwards before the first update
  };
  CHECK(warm_up(R"({"policy": "flush"})") == 1);
  CHECK(warm_up(R"({"policy": "double_buffer"})") == 2);
  CHECK(warm_up(R"({"policy": "delay", "d": 3})") == 4);
  CHECK(warm_up(R"({"policy": "stash"})") == 8);
  CHECK(warm_up(R"({"policy": "vertical_sync"})") == 8);
  CHECK(warm_up(R"({"policy": "latest"})") == 8);
  CHECK(testing::error_message([&] {
          warm_up(R"({"policy": "predicted", "prediction": {"forward": [1, 1, 1, 1]}})");
        }).find("cannot be predicted") != std::string::npos);
}

TEST_CASE("of what is ready of one kind the oldest comes first, though younger ones came earlier") {
  // Devices 0 and 1 share stage 0; 1 is four times as fast, so that forwards 1 and 3 come to device 2 before 0 and 2.
  const Schedule schedule = schedule_from_json(
      R"({"format": "plumbline-schedule", "version": 1, "name": "turns", "parameters": {}, "num_stages": 2,
          "num_microbatches": 6, "microbatches_per_update": 6, "weights": {"policy": "flush"}, "num_devices": 3,
          "policy": {"choice": "arrival", "priorities": ["F", "B"]}, "placement": [[[0, 1], [2]]]})",
      "turns.json");
  Cluster cluster;
  cluster.devices.assign(3, {});
  cluster.devices[1].speed = 4;
  cluster.devices[2].speed = 0.5;
  cluster.devices_per_node = 3;
  cluster.finish();
  const StageCosts costs = abstract_costs("F=1,B=2", "", {.num_stages = 2});
  const RunTimeOrder order = policy_order(schedule, lower(schedule, costs, &cluster), 0);
  std::vector<std::int32_t> forwards;
  for (const Action& action : expand(order.schedule.devices[2])) {
    if (action.op == Op::kF) forwards.push_back(static_cast<std::int32_t>(action.microbatch));
  }
  // 1 is alone at 0.25 and takes until 2.25, when 3, 5, 0 and 2 have come, in this order; the last one, 4, at 3.
  CHECK(forwards == std::vector<std::int32_t>{1, 0, 2, 3, 4, 5});
}

TEST_CASE("a limit that brings everything to a standstill is said in one line") {
  Schedule schedule = generate("interleaved", {.num_devices = 2, .num_microbatches = 2, .chunks = 2});
  std::string text = schedule_to_json(schedule);
  text = text.substr(0, text.find("\"devices\": [")) + R"("policy": {"priorities": ["B", "F"], "limits": 1}})";
  schedule = schedule_from_json(text, "policy.json");
  CHECK(testing::error_message([&] { decided(schedule, "F=1,B=2"); }) ==
        "policy: device 0 keeps 1 microbatches and can do nothing else; expected a larger limit");
}

}  // namespace plumb

TEST_SUITE_END();
