#include <doctest/doctest.h>

#include "schedules/catalogue/registry.hpp"
#include "tests/support/device_span.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/unrolled.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {

TEST_CASE("zb-h2 lists are those of the rule") {
  for (const std::int64_t p : {1, 2, 3, 6}) {
    for (const std::int64_t m : {1, 2, 3, 5, 12}) {
      const Schedule schedule =
          generate("zb-h2", {.num_devices = static_cast<std::int32_t>(p), .num_microbatches = m, .updates = 2});
      for (std::int64_t s = 0; s < p; ++s) {
        CAPTURE(p);
        CAPTURE(m);
        CAPTURE(s);
        Unrolled list;
        for (std::int64_t update = 0; update < 2; ++update) {
          const std::int64_t first = update * m;
          std::int64_t f = 0;
          std::int64_t w = 0;
          while (f < std::min(2 * (p - s) - 1, m)) list.add(s, "F", first + f++);
          for (std::int64_t i = 0; i < m; ++i) {
            list.add(s, "I", first + i);
            if (i + 1 > 2 * s) list.add(s, "W", first + w++);
            if (f < m) list.add(s, "F", first + f++);
          }
          while (w < m) list.add(s, "W", first + w++);
          list.add(s, "U", update);
        }
        CHECK(list_text(schedule, s) == list.text());
      }
    }
  }
}

TEST_CASE(
    "a device of zb-h2 takes m t + (p - 1)(F + I - 2W) from first to last action, with equal passes nothing more") {
  for (const std::int64_t p : {2, 3, 4, 8}) {
    for (const std::int64_t m : {2 * p, 3 * p + 1}) {
      CAPTURE(p);
      CAPTURE(m);
      const Schedule schedule = generate("zb-h2", {.num_devices = static_cast<std::int32_t>(p), .num_microbatches = m});
      CHECK(longest_device_span(schedule, kEqualPasses) == 3 * m);
      CHECK(longest_device_span(schedule, {.f = 4, .i = 5, .w = 3}) == 12 * m + (p - 1) * 3);
    }
  }
}

TEST_CASE("every device of zb-h2 keeps 2p - 1 activations when I frees nothing") {
  const Schedule schedule = generate("zb-h2", {.num_devices = 5, .num_microbatches = 12});
  CHECK(peak_stashes(schedule) == std::vector<std::int64_t>(5, 9));
}

TEST_CASE("the picture of zb-h2 is the one in tests/golden") {
  const std::string actual = picture(generate("zb-h2", {.num_devices = 3, .num_microbatches = 6}), {});
  CHECK(actual == golden("schedules/zb_h2.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
