#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "schedules/catalogue/registry.hpp"
#include "schedules/checks/validate.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/versions_read.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

Schedule cyclic(std::int64_t p, std::int64_t m, const char* rule, std::int64_t updates = 0) {
  return generate("cyclic-dp", {.num_devices = static_cast<std::int32_t>(p),
                                .num_microbatches = m,
                                .updates = updates,
                                .options = {{"rule", rule}}});
}

/// Activations of all workers together before and after every slot, F = B = 1, once all of them have begun.
std::pair<std::int64_t, std::int64_t> least_and_most(const Schedule& schedule) {
  const Replay run = replay(schedule, {.f = 1, .b = 1});
  std::map<std::int64_t, std::int64_t> change;
  std::int64_t all_began = 0;
  std::int64_t first_ended = run.makespan;
  for (const auto& device : run.devices) {
    for (const Placed& placed : device) {
      if (placed.action.op == Op::kF) ++change[placed.start];
      if (placed.action.op == Op::kB) --change[placed.end];
    }
    all_began = std::max(all_began, device.front().start);
    first_ended = std::min(first_ended, device.back().start);
  }
  std::int64_t now = 0;
  std::int64_t least = 1'000'000;
  std::int64_t most = 0;
  for (const auto& [time, step] : change) {
    now += step;
    most = std::max(most, now);
    if (time >= all_began + 2 && time < first_ended - 2) least = std::min(least, now);
  }
  return {least, most};
}

}  // namespace

TEST_CASE("worker r of cyclic-dp reads the current weights from stage p - 1 - r on, by v1 nowhere") {
  for (const char* rule : {"v2", "v1"}) {
    for (const std::int64_t p : {1, 2, 3, 4, 7}) {
      for (const std::int64_t passes : {1, 2, 4}) {
        CAPTURE(rule);
        CAPTURE(p);
        CAPTURE(passes);
        const Schedule schedule = cyclic(p, p * passes, rule, 4);
        REQUIRE(validate(schedule).empty());
        const VersionsRead reads = versions_read(schedule);
        REQUIRE(std::ssize(reads.forward) == p * p * passes * 4);
        CHECK(reads.forward == reads.backward);
        for (const auto& [at, version] : reads.forward) {
          const auto& [microbatch, stage] = at;
          const std::int64_t step = microbatch / (p * passes);
          const std::int64_t worker = microbatch % (p * passes) / passes;
          const bool fresh = rule == std::string("v2") && stage >= p - 1 - worker;
          CHECK(version == std::max<std::int64_t>(fresh ? step : step - 1, 0));
        }
      }
    }
  }
}

TEST_CASE("no stage of cyclic-dp keeps more than one old version of its weights") {
  for (const char* rule : {"v2", "v1"}) {
    const auto kept = most_versions(cyclic(4, 8, rule, 6));
    CHECK(*std::max_element(kept.begin(), kept.end()) == 2);
  }
}

TEST_CASE("workers of cyclic-dp stay two slots apart and never wait, and a step takes 2p slots") {
  for (const std::int64_t p : {2, 3, 4, 8}) {
    CAPTURE(p);
    const Schedule schedule = cyclic(p, p, "v2", 5);
    const Replay run = replay(schedule, {.f = 1, .b = 1});
    CHECK(run.makespan == 5 * 2 * p + 2 * (p - 1));
    for (std::size_t d = 0; d < run.devices.size(); ++d) {
      CHECK(run.devices[d].front().start == 2 * static_cast<std::int64_t>(d));
    }
  }
}

TEST_CASE("the activations of all workers add up to about half of those of workers that start at once") {
  for (const std::int64_t p : {2, 4, 8}) {
    CAPTURE(p);
    const auto [least, most] = least_and_most(cyclic(p, p, "v2", 4));
    CHECK(most <= p * (p + 2) / 2);
    CHECK(least >= p * p / 2 - p);
  }
}

TEST_CASE("cyclic-dp names the rule that a request breaks") {
  CHECK(error_message([] { cyclic(4, 6, "v2"); }) ==
        "cyclic-dp: num_microbatches (6) must be a multiple of num_devices (4)");
}

TEST_CASE("the picture of cyclic-dp is the one in tests/golden") {
  const std::string actual = picture(cyclic(3, 3, "v2", 2), {.f = 1, .b = 1});
  CHECK(actual == golden("schedules/cyclic_dp.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
