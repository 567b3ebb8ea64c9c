#include <doctest/doctest.h>

#include "schedules/catalogue/registry.hpp"
#include "tests/support/device_span.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/unrolled.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {

TEST_CASE("v-half takes 6m + 3p - 7 slots and v-min 6m + 4p - 5") {
  for (const std::int32_t p : {4, 8, 16}) {
    const std::int64_t m = 2 * std::int64_t{p};
    CAPTURE(p);
    const ScheduleParams params{.num_devices = p, .num_microbatches = m};
    CHECK(longest_device_span(generate("v-half", params), kEqualPasses) == 6 * m + 3 * p - 7);
    CHECK(longest_device_span(generate("v-min", params), kEqualPasses) == 6 * m + 4 * p - 5);
  }
}

TEST_CASE("odd numbers of devices take the released scheduler's slots") {
  const auto span = [](const char* name, std::int32_t p) {
    return longest_device_span(generate(name, {.num_devices = p, .num_microbatches = 6}), kEqualPasses);
  };
  CHECK(span("v-half", 5) == 47);
  CHECK(span("v-min", 5) == 51);
  CHECK(span("v-half", 3) == 41);
  CHECK(span("v-min", 3) == 41);
}

TEST_CASE("v-min keeps a third and v-half half of the memory of 1f1b") {
  for (const std::int32_t p : {3, 4, 5, 8, 16}) {
    CAPTURE(p);
    const ScheduleParams params{.num_devices = p, .num_microbatches = 3 * std::int64_t{p}};
    CHECK(largest_peak(generate("v-min", params)) == 2 * ((p + 4) / 3));
    CHECK(largest_peak(generate("v-half", params)) == 2 * ((p + 2) / 2));
  }
}

TEST_CASE("the pictures of v-min and v-half are those in tests/golden") {
  const std::string least = picture(generate("v-min", {.num_devices = 4, .num_microbatches = 6}), {});
  CHECK(least == golden("schedules/v_min.txt", least));
  const std::string half = picture(generate("v-half", {.num_devices = 4, .num_microbatches = 6}), {});
  CHECK(half == golden("schedules/v_half.txt", half));
}

}  // namespace plumb::testing

TEST_SUITE_END();
