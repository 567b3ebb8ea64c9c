#include "sim/rules/run_size.hpp"

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "sim/passes/fold.hpp"
#include "sim/simulate.hpp"
#include "tests/support/simulated.hpp"

TEST_SUITE_BEGIN("sim");

using namespace plumb;
using namespace plumb::testing;

namespace {

/// The runs that were announced since the test set it to nothing.
std::vector<WorkSize>& announced() {
  static std::vector<WorkSize> sizes;
  return sizes;
}

SimOptions announcing() {
  announced().clear();
  SimOptions options;
  options.on_full_run = [](const WorkSize& size) { announced().push_back(size); };
  return options;
}

}  // namespace

TEST_CASE("§1.5: a run of all actions is announced once, with as many actions as it has, a skipped one never") {
  const Case one{.name = "1f1b", .p = 4, .m = 200};
  const Schedule schedule = schedule_of(one);
  simulate_summary(schedule, costs_of(one, schedule), nullptr, {}, announcing());
  CHECK(announced().empty());  // its steady state is skipped
  SimOptions jittered = announcing();
  Cluster cluster;
  cluster.devices.resize(4);
  for (DeviceSpec& device : cluster.devices) device.jitter = 0.1;
  cluster.devices_per_node = 4;
  cluster.finish();
  const Timeline timeline = simulate_summary(schedule, costs_of(one, schedule), &cluster, {}, jittered);
  REQUIRE(announced().size() == 1);
  CHECK(announced().front().actions == 4 * (2 * 200 + 1));
  CHECK(announced().front().bytes > 0);
  CHECK(announced().front().seconds > 0);
}

TEST_CASE("§1.5: a steady state is skipped where the schedule without it has at most half of the actions") {
  const auto actions = [](const Schedule& schedule) {
    std::int64_t all = 0;
    for (const DeviceList& list : schedule.devices) all += std::ssize(expand(list));
    return all;
  };
  int skipped = 0;
  int repeats = 0;
  for (std::int64_t m = 6; m <= 40; ++m) {
    CAPTURE(m);
    const Case one{.name = "1f1b", .p = 4, .m = m};
    const Schedule schedule = schedule_of(one);
    const auto folded = fold(schedule, 4, 1);
    const bool half = folded && actions(folded->schedule) <= actions(schedule) / 2;
    simulate_summary(schedule, costs_of(one, schedule), nullptr, {}, announcing());
    CHECK(announced().empty() == half);
    skipped += half ? 1 : 0;
    repeats += folded ? 1 : 0;
  }
  CHECK(skipped > 5);
  CHECK(repeats > skipped + 5);
}

TEST_CASE("§1.5: a run that is refused is not announced") {
  const Schedule schedule = schedule_of({.name = "1f1b", .p = 65536, .m = 100'000});
  CHECK_THROWS_AS(check_run_size(schedule, false, announcing()), Error);
  CHECK(announced().empty());
}

TEST_SUITE_END();
