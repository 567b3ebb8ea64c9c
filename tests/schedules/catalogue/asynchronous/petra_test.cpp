#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "schedules/catalogue/registry.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/unrolled.hpp"
#include "tests/support/versions_read.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
TEST_CASE("petra has the lists of pipelined backpropagation and recomputes every stage") {
  const ScheduleParams params{.num_devices = 4, .num_microbatches = 3, .updates = 6};
  const Schedule petra = generate("petra", params);
  CHECK(petra.devices == generate("pipelined-backpropagation", params).devices);
  REQUIRE(petra.recompute.size() == 1);
  CHECK(petra.recompute[0].first_stage == 0);
  CHECK(petra.recompute[0].last_stage == 3);
  CHECK(petra.recompute[0].microbatches.empty());
}

TEST_CASE("petra's backward makes activations again with the newest weights, its forward read 2(p - 1 - s) / m older") {
  const Schedule schedule = generate("petra", {.num_devices = 4, .num_microbatches = 2, .updates = 9});
  const VersionsRead reads = versions_read(schedule);
  for (const auto& [key, version] : reads.backward) {
    CHECK(version == key.first / 2);
    CHECK(reads.forward.at(key) == newest_at_forward(key.first, 2 * (3 - key.second), 2));
  }
  CHECK(most_versions(schedule) == std::vector<std::int64_t>{1, 1, 1, 1});
}

TEST_CASE("a microbatch of petra takes 4 where one of pipelined backpropagation takes 3, for F = R = 1 and B = 2") {
  const auto further = [](const char* name) {
    const auto makespan = [&](std::int64_t updates) {
      const ScheduleParams params{.num_devices = 4, .num_microbatches = 1, .updates = updates};
      return replay(generate(name, params), {.f = 1, .b = 2, .r = 1}).makespan;
    };
    return makespan(21) - makespan(20);
  };
  CHECK(further("petra") == 4);
  CHECK(further("pipelined-backpropagation") == 3);
}

TEST_CASE("the picture of petra is the one in tests/golden") {
  const Schedule schedule = generate("petra", {.num_devices = 3, .num_microbatches = 2, .updates = 3});
  const std::string actual = picture(schedule, {.f = 1, .b = 1});
  CHECK(actual == golden("schedules/petra.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
