#include <doctest/doctest.h>

#include <algorithm>

#include "schedules/catalogue/registry.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/unrolled.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {

TEST_CASE("1f1b warms up with min(p - d, m) forwards, then takes a backward whenever it can") {
  for (const std::int64_t p : {1, 2, 4, 7}) {
    for (const std::int64_t m : {1, 2, 3, 8, 20}) {
      const Schedule schedule =
          generate("1f1b", {.num_devices = static_cast<std::int32_t>(p), .num_microbatches = m, .updates = 3});
      for (std::int64_t d = 0; d < p; ++d) {
        CAPTURE(p);
        CAPTURE(m);
        CAPTURE(d);
        Unrolled list;
        for (std::int64_t update = 0; update < 3; ++update) {
          std::int64_t f = 0;
          for (; f < std::min(p - d, m); ++f) list.add(d, "F", update * m + f);
          for (std::int64_t b = 0; b < m; ++b) {
            list.add(d, "B", update * m + b);
            if (f < m) list.add(d, "F", update * m + f++);
          }
          list.add(d, "U", update);
        }
        CHECK(list_text(schedule, d) == list.text());
      }
    }
  }
}

TEST_CASE("1f1b takes (m + p - 1)(F + B) and device d keeps min(p - d, m) activations") {
  for (const std::int32_t p : {1, 2, 3, 4, 8}) {
    for (const std::int64_t m : {1, 2, 4, 7, 16}) {
      CAPTURE(p);
      CAPTURE(m);
      const Schedule schedule = generate("1f1b", {.num_devices = p, .num_microbatches = m});
      CHECK(replay(schedule, {.f = 1, .b = 2}).makespan == (m + p - 1) * 3);
      std::vector<std::int64_t> peaks;
      for (std::int64_t d = 0; d < p; ++d) peaks.push_back(std::min<std::int64_t>(p - d, m));
      CHECK(peak_stashes(schedule) == peaks);
    }
  }
}

TEST_CASE("1f1b recomputes before each backward but the last, where it is told to") {
  const auto list = [](std::int64_t device, const char* recompute) {
    const ScheduleParams params{.num_devices = 2, .num_microbatches = 3, .options = {{"recompute", recompute}}};
    return list_text(generate("1f1b", params), device);
  };
  CHECK(list(0, "early") == "0F0 0F1 0R0 0B0 0F2 0R1 0B1 0R2 0B2 0U0");
  CHECK(list(0, "early-except-last") == "0F0 0F1 0R0 0B0 0F2 0R1 0B1 0B2 0U0");
  CHECK(list(1, "early") == "1F0 1R0 1B0 1F1 1R1 1B1 1F2 1R2 1B2 1U0");
  CHECK(list(1, "early-except-last") == "1F0 1R0 1B0 1F1 1R1 1B1 1F2 1B2 1U0");
  CHECK(list(0, "always") == "0F0 0F1 0B0 0F2 0B1 0B2 0U0");
}

TEST_CASE("recompute in 1f1b takes (m + p - 1)(F + R + B) in the backward, and (p - 1) R less ahead of the gradient") {
  const auto makespan = [](const char* recompute, std::int32_t p, std::int64_t m) {
    const ScheduleParams params{.num_devices = p, .num_microbatches = m, .options = {{"recompute", recompute}}};
    return replay(generate("1f1b", params), {.f = 1, .b = 2, .r = 1}).makespan;
  };
  for (const std::int32_t p : {1, 2, 4}) {
    for (const std::int64_t m : {p, 2 * p, 3 * p + 1}) {
      CAPTURE(p);
      CAPTURE(m);
      CHECK(makespan("always", p, m) == (m + p - 1) * 4);
      CHECK(makespan("early", p, m) == (m + p - 1) * 4 - (p - 1));
    }
  }
}

TEST_CASE("limit=K keeps every device of 1f1b at K activations") {
  const ScheduleParams params{.num_devices = 4, .num_microbatches = 8, .options = {{"limit", "2"}}};
  CHECK(peak_stashes(generate("1f1b", params)) == std::vector<std::int64_t>{2, 2, 2, 1});
}

TEST_CASE("the picture of 1f1b is the one in tests/golden") {
  const std::string actual = picture(generate("1f1b", {.num_devices = 4, .num_microbatches = 8}), {});
  CHECK(actual == golden("schedules/1f1b.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
