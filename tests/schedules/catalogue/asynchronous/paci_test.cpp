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
TEST_CASE("paci has the lists of pipedream and one version of the weights") {
  const ScheduleParams params{.num_devices = 4, .num_microbatches = 3, .updates = 7};
  const Schedule schedule = generate("paci", params);
  CHECK(schedule.devices == generate("pipedream", params).devices);
  CHECK(most_versions(schedule) == std::vector<std::int64_t>{1, 1, 1, 1});
  CHECK(peak_stashes(schedule) == peak_stashes(generate("1f1b", {.num_devices = 4, .num_microbatches = 8})));
}

TEST_CASE("a microbatch of paci crosses at most one update on any stage, and some microbatch crosses one") {
  for (const bool slots : {false, true}) {
    for (const std::int32_t p : {2, 3, 4, 8}) {
      for (const std::int64_t m : {p - 1, p, 2 * p - 1, 3 * p}) {
        if (slots && m < 2 * p - 1) continue;
        CAPTURE(slots);
        CAPTURE(p);
        CAPTURE(m);
        const VersionsRead reads = versions_read(generate("paci", {.num_devices = p,
                                                                   .num_microbatches = m,
                                                                   .updates = 5,
                                                                   .options = {{"timing", slots ? "slots" : "1f1b"}}}));
        std::int32_t most = 0;
        for (const auto& [key, version] : reads.forward) most = std::max(most, reads.backward.at(key) - version);
        CHECK(most == 1);
      }
    }
  }
}

TEST_CASE("paci is refused where a microbatch would cross two updates") {
  CHECK(error_message([] { generate("paci", {.num_devices = 4, .num_microbatches = 2}); }) ==
        "paci: num_microbatches (2) must be at least 3, so that a microbatch crosses at most one update");
}

TEST_CASE("the picture of paci is the one in tests/golden") {
  const std::string actual = picture(generate("paci", {.num_devices = 3, .num_microbatches = 2, .updates = 4}), {});
  CHECK(actual == golden("schedules/paci.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
