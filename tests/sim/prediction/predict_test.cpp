#include "sim/prediction/predict.hpp"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "schedules/catalogue/registry.hpp"
#include "schedules/checks/validate.hpp"
#include "schedules/document/device_list.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/program/pricing_shape.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb {
namespace {

PreparedRun prepared(Schedule schedule) {
  const CostSource source{.kind = AbstractUnits{.times = "F=1,B=2,comm=0.1", .memory = "F=1,B=-1"}};
  PricedPipeline priced = price(source, schedule);
  return prepare_run(std::move(schedule), std::move(priced), source, {});
}

Schedule schedule_on_four(const std::string& name, std::int64_t microbatches = 8) {
  return generate(name, {.num_devices = 4, .num_microbatches = microbatches});
}

Timeline predicted(const PreparedRun& run) { return predict(run, MemoryLimit{}, run.rules.simulation(run.schedule)); }

/// The actions of every device, in an order of their own.
std::vector<std::vector<Action>> work_of_devices(const Schedule& schedule) {
  std::vector<std::vector<Action>> work;
  for (const DeviceList& list : schedule.devices) {
    std::vector<Action>& actions = work.emplace_back(expand(list));
    std::ranges::sort(actions, {},
                      [](const Action& action) { return std::tuple(action.op, action.stage, action.microbatch); });
  }
  return work;
}

}  // namespace

TEST_CASE("an order that is fixed stays as it is, and one that devices decide has the same work in valid lists") {
  for (const char* name : {"gpipe", "1f1b", "zb-h1", "interleaved"}) {
    CAPTURE(name);
    const Schedule listed = schedule_on_four(name);
    const OrderedRun fixed = decide_order(prepared(listed));
    CHECK(fixed.run.schedule.devices == listed.devices);
    CHECK_FALSE(fixed.without_contention);
    for (const OrderRule rule : {OrderRule::kReady, OrderRule::kBackwardFirst}) {
      const OrderedRun decided = decide_order(prepared(listed), rule);
      CHECK(validate(decided.run.schedule).empty());
      CHECK(work_of_devices(decided.run.schedule) == work_of_devices(listed));
      CHECK_FALSE(decided.run.schedule.policy);
      CHECK_FALSE(decided.without_contention);
    }
  }
}

TEST_CASE("where backwards go first GPipe's lists keep no more than 1F1B's, and take no longer") {
  const Timeline listed = predicted(decide_order(prepared(schedule_on_four("gpipe"))).run);
  const Timeline first = predicted(decide_order(prepared(schedule_on_four("gpipe")), OrderRule::kBackwardFirst).run);
  const Timeline ideal = predicted(decide_order(prepared(schedule_on_four("1f1b"))).run);
  CHECK(first.makespan <= listed.makespan);
  CHECK(first.makespan <= ideal.makespan);
  CHECK(first.devices[3].busy == ideal.devices[3].busy);
}

TEST_CASE("what is ready runs in the order of the lists, where all forwards come first, or backwards first") {
  const Schedule listed = schedule_on_four("gpipe", 16);
  const auto forwards_in_front = [&](OrderRule rule) {
    const std::vector<Action> first = expand(decide_order(prepared(listed), rule).run.schedule.devices[0]);
    return std::ranges::find(first, Op::kB, &Action::op) - first.begin();
  };
  CHECK(forwards_in_front(OrderRule::kReady) == 16);
  // The first one is there after 4 forwards, 3 backwards and 6 messages.
  CHECK(forwards_in_front(OrderRule::kBackwardFirst) < 16);
}

TEST_CASE("a schedule with a policy of its own takes no rule beside it, and its policy decides its lists") {
  const Schedule listed = schedule_on_four("1f1b");
  std::string text = schedule_to_json(listed);
  text = text.substr(0, text.find("\"devices\": ["));
  const Schedule schedule =
      schedule_from_json(text + R"("policy": {"priorities": ["B", "F"], "limits": [4, 3, 2, 1]}})", "policy.json");
  for (const OrderRule rule : {OrderRule::kReady, OrderRule::kBackwardFirst}) {
    CHECK(testing::error_message([&] { decide_order(prepared(schedule), rule); }) ==
          "--order: the schedule has its own run-time policy, expected no --order");
  }
  const OrderedRun decided = decide_order(prepared(schedule));
  CHECK_FALSE(decided.run.schedule.policy);
  CHECK(validate(decided.run.schedule).empty());
  CHECK(predicted(decided.run).makespan == predicted(decide_order(prepared(listed)).run).makespan);
}

}  // namespace plumb

TEST_SUITE_END();
