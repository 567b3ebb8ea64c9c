#include "sim/policy_order.hpp"

#include <string>

#include <doctest/doctest.h>

#include "models/abstract_costs.hpp"
#include "schedules/lower.hpp"
#include "schedules/registry.hpp"
#include "schedules/schedule_io.hpp"
#include "schedules/validate.hpp"
#include "sim/simulate.hpp"
#include "tests/support/error_message.hpp"

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
