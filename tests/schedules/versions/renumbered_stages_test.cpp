#include <doctest/doctest.h>

#include "schedules/catalogue/registry.hpp"
#include "schedules/versions/steady_delays.hpp"
#include "tests/support/numbered_backwards.hpp"
#include "tests/support/versions_read.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {

TEST_CASE("every stage reads the versions that it reads when stages are numbered along the data") {
  constexpr std::int32_t kStages = 4;
  for (const char* name : {"pipedream-vs", "pipedream", "pipemare", "pipedream-2bw"}) {
    for (const std::int64_t m : {4, 8}) {
      CAPTURE(name);
      CAPTURE(m);
      const Schedule schedule = generate(name, {.num_devices = kStages, .num_microbatches = m, .updates = 6});
      const VersionsRead along = versions_read(schedule);
      const VersionsRead against = versions_read(numbered_backwards(schedule));
      REQUIRE(along.forward.size() == against.forward.size());
      for (const auto& read : along.forward) {
        const std::pair<std::int64_t, std::int64_t> turned{read.first.first, kStages - 1 - read.first.second};
        CHECK(against.forward.at(turned) == read.second);
        CHECK(against.backward.at(turned) == along.backward.at(read.first));
      }
    }
  }
}

TEST_CASE("closed forms of delays are of stages in the order of their numbers only") {
  const Schedule schedule = generate("pipemare", {.num_devices = 4, .num_microbatches = 2, .updates = 6});
  CHECK(has_closed_delays(schedule));
  CHECK_FALSE(has_closed_delays(numbered_backwards(schedule)));
}

}  // namespace plumb::testing

TEST_SUITE_END();
