#include <doctest/doctest.h>

#include <algorithm>

#include "schedules/catalogue/registry.hpp"
#include "tests/support/device_span.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/unrolled.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
TEST_CASE("zb-h1 lists are those of the paper's rule") {
  for (const std::int64_t p : {1, 2, 3, 6}) {
    for (const std::int64_t m : {1, 2, 3, 5, 12}) {
      const Schedule schedule =
          generate("zb-h1", {.num_devices = static_cast<std::int32_t>(p), .num_microbatches = m, .updates = 2});
      for (std::int64_t s = 0; s < p; ++s) {
        CAPTURE(p);
        CAPTURE(m);
        CAPTURE(s);
        Unrolled list;
        for (std::int64_t update = 0; update < 2; ++update) {
          const std::int64_t first = update * m;
          const std::int64_t warm = std::min(p - 1 - s, m);
          std::int64_t w = 0;
          for (std::int64_t i = 0; i < warm; ++i) list.add(s, "F", first + i);
          for (std::int64_t i = 0; i < m - warm; ++i) {
            list.add(s, "F", first + warm + i).add(s, "I", first + i);
            if (i >= s) list.add(s, "W", first + w++);
          }
          for (std::int64_t i = m - warm; i < m; ++i) {
            list.add(s, "I", first + i);
            if (i >= s) list.add(s, "W", first + w++);
          }
          while (w < m) list.add(s, "W", first + w++);
          list.add(s, "U", update);
        }
        CHECK(list_text(schedule, s) == list.text());
      }
    }
  }
}

TEST_CASE("zb-h1 keeps a device busy or idle for m t + (p - 1)(F + I - W) at most") {
  for (const std::int64_t p : {2, 3, 4, 8}) {
    for (const std::int64_t m : {p, 2 * p, 3 * p + 1}) {
      CAPTURE(p);
      CAPTURE(m);
      const Schedule schedule = generate("zb-h1", {.num_devices = static_cast<std::int32_t>(p), .num_microbatches = m});
      CHECK(longest_device_span(schedule, {.f = 1, .i = 1, .w = 1}) == 3 * m + p - 1);
      CHECK(longest_device_span(schedule, {.f = 4, .i = 5, .w = 3}) == 12 * m + (p - 1) * 6);
    }
  }
}

TEST_CASE("every device of zb-h1 keeps p activations when I frees nothing") {
  const Schedule schedule = generate("zb-h1", {.num_devices = 5, .num_microbatches = 9});
  CHECK(peak_stashes(schedule) == std::vector<std::int64_t>(5, 5));
}

TEST_CASE("the picture of zb-h1 is the one in tests/golden") {
  const std::string actual = picture(generate("zb-h1", {.num_devices = 3, .num_microbatches = 6}), {});
  CHECK(actual == golden("schedules/zb_h1.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
