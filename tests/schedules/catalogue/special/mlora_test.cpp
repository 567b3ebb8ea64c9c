#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "models/sources/abstract_costs.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/checks/validate.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/stage_list.hpp"
#include "tests/support/unrolled.hpp"
#include "tests/support/versions_read.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

Schedule mlora(std::int64_t p, std::int64_t adapters, std::int64_t each, std::int64_t updates,
               std::int64_t backward = 2, const std::string& next = "waiting") {
  ScheduleParams params{.num_devices = static_cast<std::int32_t>(p),
                        .num_microbatches = adapters * each,
                        .updates = updates,
                        .options = {{"adapters", std::to_string(adapters)}, {"next", next}}};
  const std::string costs = "F=1,B=" + std::to_string(backward);
  params.costs = [costs](std::int32_t stages) { return abstract_costs(costs, "", {.num_stages = stages}); };
  return generate("mlora", params);
}

}  // namespace

TEST_CASE("adapters of mlora take the time of the published program's closed form") {
  for (const std::int64_t p : {1, 2, 3, 4, 7}) {
    for (const std::int64_t adapters : {1, 2, 3, 4, 5, 8}) {
      for (const std::int64_t updates : {1, 2, 8}) {
        for (const std::int64_t backward : {1, 2}) {
          CAPTURE(p);
          CAPTURE(adapters);
          CAPTURE(updates);
          const std::int64_t pass = 1 + backward;
          const std::int64_t expected = std::max(adapters, p) * updates * pass + (std::min(adapters, p) - 1) * pass;
          CHECK(replay(mlora(p, adapters, 1, updates, backward), {.f = 1, .b = backward}).makespan == expected);
        }
      }
    }
  }
}

// The numbers are those of a script of thirty lines that plays the released program's rule with a heap of events.
TEST_CASE("with the first job before others, mlora's last adapters are left for the end") {
  const auto makespan = [](std::int64_t p, std::int64_t adapters, std::int64_t updates, std::int64_t backward) {
    return replay(mlora(p, adapters, 1, updates, backward, "first"), {.f = 1, .b = backward}).makespan;
  };
  CHECK(makespan(2, 4, 2, 1) == 20);
  CHECK(makespan(2, 4, 8, 1) == 80);
  CHECK(makespan(2, 5, 8, 2) == 144);
  CHECK(makespan(3, 8, 8, 2) == 240);
  CHECK(makespan(4, 8, 2, 1) == 44);
  CHECK(makespan(4, 5, 8, 2) == 129);  // as in the closed form
}

TEST_CASE("mlora has one batch of every adapter under way, and updates it right behind its last backward") {
  for (const std::int64_t p : {1, 3, 4}) {
    for (const std::int64_t adapters : {1, 2, 5}) {
      for (const std::int64_t each : {1, 2, 3}) {
        const Schedule schedule = mlora(p, adapters, each, 3);
        CHECK(validate(schedule).empty());
        for (const DeviceList& list : schedule.devices) {
          std::map<ReplicaId, std::set<std::int64_t>> open;  // by adapter: updates whose forwards began
          std::map<ReplicaId, std::int64_t> backwards;
          for (const Action& action : expand(list)) {
            const auto number = static_cast<std::int64_t>(action.microbatch);
            if (action.op == Op::kF) {
              open[action.replica].insert(number / (adapters * each));
              CHECK(open[action.replica].size() == 1);
              CHECK(number % (adapters * each) / each == static_cast<std::int64_t>(index(action.replica)));
            }
            if (action.op == Op::kB) ++backwards[action.replica];
            if (action.op != Op::kU) continue;
            CHECK(backwards[action.replica] == (number + 1) * each);
            CHECK(open[action.replica] == std::set<std::int64_t>{number});
            open[action.replica].clear();
          }
        }
      }
    }
  }
}

TEST_CASE("the adapters of mlora stay apart: nothing is reduced, and each has its own holder of every stage") {
  const auto program = lowered(mlora(2, 3, 1, 2));
  CHECK(program.collectives.empty());
  CHECK(program.holders.size() == 6);
}

TEST_CASE("mlora takes m apart evenly among its adapters") {
  CHECK(error_message([] { mlora(2, 3, 1, 1); }).empty());
  const ScheduleParams uneven{.num_devices = 2, .num_microbatches = 4, .options = {{"adapters", "3"}}};
  CHECK(error_message([&] { generate("mlora", uneven); }) ==
        "mlora: num_microbatches (4) must be a multiple of adapters (3)");
}

TEST_CASE("the picture of mlora is the one in tests/golden") {
  const std::string actual = picture(mlora(3, 4, 1, 2), {});
  CHECK(actual == golden("schedules/mlora.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
