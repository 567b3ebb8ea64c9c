#include <doctest/doctest.h>

#include <algorithm>

#include "schedules/catalogue/registry.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/unrolled.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {

TEST_CASE("pipedream fills once, alternates, drains once, and updates after every m-th backward") {
  for (const std::int64_t p : {1, 2, 4, 9}) {
    for (const std::int64_t m : {1, 2, 3, 8}) {
      for (const std::int64_t updates : {1, 2, 5, 12}) {
        const Schedule schedule = generate(
            "pipedream", {.num_devices = static_cast<std::int32_t>(p), .num_microbatches = m, .updates = updates});
        for (std::int64_t d = 0; d < p; ++d) {
          CAPTURE(p);
          CAPTURE(m);
          CAPTURE(updates);
          CAPTURE(d);
          Unrolled list;
          const std::int64_t all = m * updates;
          std::int64_t f = 0;
          while (f < std::min(p - 1 - d, all)) list.add(d, "F", f++);
          for (std::int64_t b = 0; b < all; ++b) {
            if (f < all) list.add(d, "F", f++);
            list.add(d, "B", b);
            if ((b + 1) % m == 0) list.add(d, "U", b / m);
          }
          CHECK(list_text(schedule, d) == list.text());
        }
      }
    }
  }
}

TEST_CASE("pipedream with P = 4 and 8 microbatches has the published lists, 22 unit times long") {
  const Schedule schedule = generate("pipedream", {.num_devices = 4, .num_microbatches = 8, .updates = 1});
  CHECK(list_text(schedule, 0) == "0F0 0F1 0F2 0F3 0B0 0F4 0B1 0F5 0B2 0F6 0B3 0F7 0B4 0B5 0B6 0B7 0U0");
  CHECK(list_text(schedule, 1) == "1F0 1F1 1F2 1B0 1F3 1B1 1F4 1B2 1F5 1B3 1F6 1B4 1F7 1B5 1B6 1B7 1U0");
  CHECK(list_text(schedule, 3) == "3F0 3B0 3F1 3B1 3F2 3B2 3F3 3B3 3F4 3B4 3F5 3B5 3F6 3B6 3F7 3B7 3U0");
  CHECK(replay(schedule, {.f = 1, .b = 1}).makespan == 22);
}

TEST_CASE("without a number of updates pipedream covers four fills") {
  const auto microbatches = [](std::int32_t p, std::int64_t m) {
    return generate("pipedream", {.num_devices = p, .num_microbatches = m}).num_microbatches;
  };
  CHECK(microbatches(4, 1) == 16);
  CHECK(microbatches(4, 3) == 24);
  CHECK(microbatches(4, 8) == 32);
}

TEST_CASE("the picture of pipedream is the one in tests/golden") {
  const Schedule schedule = generate("pipedream", {.num_devices = 3, .num_microbatches = 2, .updates = 4});
  const std::string actual = picture(schedule, {});
  CHECK(actual == golden("schedules/pipedream.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
