#include <doctest/doctest.h>

#include <string_view>

#include "schedules/catalogue/registry.hpp"
#include "tests/support/device_span.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/half_stash_peak.hpp"
#include "tests/support/unrolled.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {

TEST_CASE("zb-v has no idle time between a device's first and last action with equal passes and m >= 2p - 1") {
  for (const std::int64_t p : {1, 2, 3, 4, 8}) {
    for (const std::int64_t m : {2 * p - 1, 2 * p, 4 * p + 1}) {
      CAPTURE(p);
      CAPTURE(m);
      const Schedule schedule = generate("zb-v", {.num_devices = static_cast<std::int32_t>(p), .num_microbatches = m});
      CHECK(longest_device_span(schedule, kEqualPasses) == 6 * m);
      CHECK(replay(schedule, kEqualPasses).makespan == 6 * m + p - 1);
    }
  }
}

TEST_CASE("zb-v with few microbatches is as long as the released order") {
  const auto span = [](std::int32_t p, std::int64_t m) {
    return longest_device_span(generate("zb-v", {.num_devices = p, .num_microbatches = m}), kEqualPasses);
  };
  CHECK(span(4, 4) == 2 * 15);
  CHECK(span(4, 6) == 2 * 19);
  CHECK(span(4, 7) == 2 * 21);
  CHECK(span(8, 8) == 2 * 31);
  CHECK(span(8, 14) == 2 * 43);
  CHECK(span(8, 15) == 2 * 45);
}

TEST_CASE("zb-v with unequal passes is as long as the greater of two formulas") {
  for (const std::int64_t p : {4, 8}) {
    for (const UnitTimes times : {UnitTimes{.f = 4, .i = 6, .w = 2}, UnitTimes{.f = 6, .i = 4, .w = 2}}) {
      const std::int64_t m = 3 * p;
      const Schedule schedule = generate("zb-v", {.num_devices = static_cast<std::int32_t>(p), .num_microbatches = m});
      // In whole stages of two chunks each: (p-1)(I-W) or (p-3/2)F + I/2 - (p-1)W.
      const std::int64_t idle =
          std::max(2 * (p - 1) * (times.i - times.w), (2 * p - 3) * times.f + times.i - 2 * (p - 1) * times.w);
      CAPTURE(p);
      CHECK(longest_device_span(schedule, times) == 2 * m * (times.f + times.i + times.w) + idle);
    }
  }
}

TEST_CASE("every device of zb-v keeps 2p stashes by rule, and the memory of as many by search (I frees half)") {
  for (const char* order : {"rule", "search"}) {
    const Schedule schedule =
        generate("zb-v", {.num_devices = 5, .num_microbatches = 12, .options = {{"order", order}}});
    if (std::string_view(order) == "rule") CHECK(peak_stashes(schedule) == std::vector<std::int64_t>(5, 10));
    CHECK(half_stash_peak(schedule) <= 2 * 10);
  }
}

TEST_CASE("the searched order of zb-v is no longer than the hand-written one") {
  for (const std::int32_t p : {2, 4, 8}) {
    for (const std::int64_t m : {1, 3, 16, 24}) {
      CAPTURE(p);
      CAPTURE(m);
      const auto by = [&](const char* order) {
        return longest_device_span(
            generate("zb-v", {.num_devices = p, .num_microbatches = m, .options = {{"order", order}}}), kEqualPasses);
      };
      CHECK(by("search") <= by("rule"));
    }
  }
}

TEST_CASE("options of the search of zb-v are refused without the search") {
  const auto message = [](const char* option, const char* value) {
    return error_message([&] {
      generate("zb-v", {.num_devices = 2, .num_microbatches = 4, .options = {{option, value}}});
    });
  };
  CHECK(message("proof", "1") == "zb-v: option proof belongs to order=search");
  CHECK(message("improve", "yes") == "zb-v: option improve belongs to order=search");
}

TEST_CASE("the searched order of zb-v says its span and a bound that is proved") {
  const Schedule schedule =
      generate("zb-v", {.num_devices = 4, .num_microbatches = 12, .options = {{"order", "search"}}});
  CHECK(std::get<double>(schedule.parameters.at("search_span_ms")) == 72);
  CHECK(std::get<double>(schedule.parameters.at("search_bound_ms")) == 72);  // no idle time
}

TEST_CASE("the picture of zb-v is the one in tests/golden") {
  const std::string actual = picture(generate("zb-v", {.num_devices = 3, .num_microbatches = 6}), {});
  CHECK(actual == golden("schedules/zb_v.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
