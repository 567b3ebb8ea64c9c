#include <doctest/doctest.h>

#include "schedules/catalogue/registry.hpp"
#include "schedules/catalogue/zero_bubble/v_order.hpp"
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

TEST_CASE("a word in which a W stands before its own I never runs, on whichever stage of the device") {
  PassCosts costs;
  costs.stages.resize(2);
  for (StagePasses& stage : costs.stages) stage.f.time = stage.i.time = stage.w.time = 1;
  const auto runs = [&](const VWord& word) { return WordTimer(costs, 1).run({word}); };
  using enum VPass;
  CHECK(runs({kF0, kF1, kI1, kI0, kW1, kW0}));
  CHECK(runs({kF0, kF1, kI1, kW1, kI0, kW0}));
  CHECK_FALSE(runs({kF0, kF1, kW1, kI1, kI0, kW0}));
  CHECK_FALSE(runs({kF0, kF1, kI1, kW0, kI0, kW1}));
  CHECK_FALSE(runs({kF0, kF1, kI0, kI1, kW1, kW0}));
}

}  // namespace plumb::testing

TEST_SUITE_END();
