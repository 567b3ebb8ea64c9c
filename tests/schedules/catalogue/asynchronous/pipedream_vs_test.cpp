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
namespace {

Schedule vertical(std::int32_t p, std::int64_t m, std::int64_t updates, const std::string& timing = "1f1b") {
  return generate("pipedream-vs",
                  {.num_devices = p, .num_microbatches = m, .updates = updates, .options = {{"timing", timing}}});
}

}  // namespace

TEST_CASE("pipedream-vs has the lists of pipedream") {
  const ScheduleParams params{.num_devices = 4, .num_microbatches = 3, .updates = 7};
  CHECK(generate("pipedream-vs", params).devices == generate("pipedream", params).devices);
}

TEST_CASE("with vertical sync every stage reads the version of stage 0's forward, forward and backward") {
  for (const bool slots : {false, true}) {
    for (const std::int32_t p : {1, 2, 3, 4, 7}) {
      for (const std::int64_t m : {1, 2, 3, 8}) {
        CAPTURE(slots);
        CAPTURE(p);
        CAPTURE(m);
        const VersionsRead reads = versions_read(vertical(p, m, ceil_div(4 * p, m) + 2, slots ? "slots" : "1f1b"));
        const std::int64_t delay = slots ? 2 * p - 1 : p - 1;
        for (const auto& [key, version] : reads.forward) {
          CHECK(version == newest_at_forward(key.first, delay, m));
          CHECK(reads.backward.at(key) == version);
        }
      }
    }
  }
}

TEST_CASE("with vertical sync every stage keeps ceil((p - 1) / m) + 1 versions, in slots ceil((2p - 1) / m) + 1") {
  for (const std::int32_t p : {2, 3, 4, 7}) {
    for (const std::int64_t m : {1, 2, 3, 8}) {
      CAPTURE(p);
      CAPTURE(m);
      for (const std::int64_t versions : most_versions(vertical(p, m, 2 * ceil_div(2 * p, m) + 2))) {
        CHECK(versions == ceil_div(p - 1, m) + 1);
      }
      for (const std::int64_t versions : most_versions(vertical(p, m, 2 * ceil_div(2 * p, m) + 2, "slots"))) {
        CHECK(versions == ceil_div(2 * p - 1, m) + 1);
      }
    }
  }
}

TEST_CASE("the picture of pipedream-vs is the one in tests/golden") {
  const std::string actual = picture(vertical(3, 1, 6), {});
  CHECK(actual == golden("schedules/pipedream_vs.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
