#include <doctest/doctest.h>

#include "schedules/catalogue/registry.hpp"
#include "tests/support/device_span.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/unrolled.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {

TEST_CASE("v-zb has no idle time with equal passes and m >= 2p, in 2p stashes") {
  for (const std::int32_t p : {1, 2, 3, 5, 8}) {
    const Schedule schedule = generate("v-zb", {.num_devices = p, .num_microbatches = 2 * std::int64_t{p}});
    CAPTURE(p);
    CHECK(longest_device_span(schedule, kEqualPasses) == 12 * p);
    CHECK(largest_peak(schedule) == 2 * p);
  }
}

TEST_CASE("v-auto reaches the published idle time of every peak") {
  for (const std::int64_t p : {4, 8}) {
    const std::int64_t m = 3 * p;
    for (std::int64_t k = p; k <= 2 * p; ++k) {
      const Schedule schedule = generate(
          "v-auto",
          {.num_devices = static_cast<std::int32_t>(p), .num_microbatches = m, .memory_limit = static_cast<double>(k)});
      CAPTURE(p);
      CAPTURE(k);
      CHECK(largest_peak(schedule) <= k);
      CHECK(longest_device_span(schedule, kEqualPasses) - 6 * m ==
            3 * p - 1 - 3 * k + std::max(3 * p, p + 1 + 2 * ((k + 1) / 2)));
    }
  }
}

TEST_CASE("v-auto is no longer than v-half and v-min in their memory") {
  for (const std::int32_t p : {4, 5}) {
    const std::int64_t m = 12;
    for (const char* name : {"v-min", "v-half"}) {
      const Schedule fixed = generate(name, {.num_devices = p, .num_microbatches = m});
      const Schedule searched =
          generate("v-auto",
                   {.num_devices = p, .num_microbatches = m, .memory_limit = static_cast<double>(largest_peak(fixed))});
      CAPTURE(name);
      CAPTURE(p);
      CHECK(longest_device_span(searched, kEqualPasses) <= longest_device_span(fixed, kEqualPasses));
    }
  }
}

TEST_CASE("v-auto says its span and a bound that no order of a V in its memory undercuts, which 2p stashes reach") {
  const auto said = [](const Schedule& schedule, const char* what) {
    return std::get<double>(schedule.parameters.at(what));
  };
  for (const std::int32_t p : {3, 4}) {
    const std::int64_t m = 3 * p;
    for (std::int32_t stashes = p + 1; stashes <= 2 * p; ++stashes) {
      CAPTURE(p);
      CAPTURE(stashes);
      const ScheduleParams params{
          .num_devices = p, .num_microbatches = m, .memory_limit = static_cast<double>(stashes)};
      const Schedule schedule = generate("v-auto", params);
      CHECK(said(schedule, "search_span_ms") == longest_device_span(schedule, kEqualPasses));
      CHECK(said(schedule, "search_bound_ms") <= said(schedule, "search_span_ms"));
      CHECK(said(schedule, "search_bound_ms") >= 6 * m);
      ScheduleParams other = params;
      other.options = {{"order", "search"}};
      CHECK(said(schedule, "search_bound_ms") <= longest_device_span(generate("zb-v", other), kEqualPasses));
      if (stashes == 2 * p) CHECK(said(schedule, "search_bound_ms") == said(schedule, "search_span_ms"));
    }
  }
}

TEST_CASE("v-auto refuses a limit below all building blocks") {
  CHECK(error_message([] { generate("v-auto", {.num_devices = 8, .num_microbatches = 24, .memory_limit = 6}); }) ==
        "v-auto: no building block stays within the memory limit of 6 stashes of one stage, expected about 8");
}

TEST_CASE("1f1b-v keeps two thirds of the memory of 1f1b and takes the measured time") {
  struct Measured {
    std::int32_t p;
    std::int64_t peak;        // stashes of half a device
    std::int64_t idle_slots;  // half a device's pass is one slot
  };
  for (const Measured& measured : {Measured{4, 6, 15}, Measured{8, 12, 33}, Measured{16, 22, 75}}) {
    const std::int64_t m = 3 * std::int64_t{measured.p};
    const Schedule schedule = generate("1f1b-v", {.num_devices = measured.p, .num_microbatches = m});
    CAPTURE(measured.p);
    CHECK(largest_peak(schedule) == measured.peak);
    CHECK(longest_device_span(schedule, kEqualPasses) == 6 * m + measured.idle_slots);
  }
}

TEST_CASE("the pictures of v-zb, v-auto and 1f1b-v are those in tests/golden") {
  const std::string zb = picture(generate("v-zb", {.num_devices = 3, .num_microbatches = 6}), {});
  CHECK(zb == golden("schedules/v_zb.txt", zb));
  const std::string searched =
      picture(generate("v-auto", {.num_devices = 3, .num_microbatches = 6, .memory_limit = 5}), {});
  CHECK(searched == golden("schedules/v_auto.txt", searched));
  const std::string fused = picture(generate("1f1b-v", {.num_devices = 3, .num_microbatches = 6}), {});
  CHECK(fused == golden("schedules/1f1b_v.txt", fused));
}

}  // namespace plumb::testing

TEST_SUITE_END();
