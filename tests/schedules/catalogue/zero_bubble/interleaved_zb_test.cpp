#include <doctest/doctest.h>

#include "schedules/catalogue/registry.hpp"
#include "tests/support/device_span.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/unrolled.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {

TEST_CASE("interleaved-zb with one chunk is zb-h1") {
  for (const std::int32_t p : {1, 3, 4}) {
    for (const std::int64_t m : {4, 8}) {
      Schedule one = generate("interleaved-zb", {.num_devices = p, .num_microbatches = m, .chunks = 1});
      const Schedule other = generate("zb-h1", {.num_devices = p, .num_microbatches = m});
      for (std::int64_t d = 0; d < p; ++d) CHECK(list_text(one, d) == list_text(other, d));
    }
  }
}

TEST_CASE("interleaved-zb keeps (v - 1) group + p stashes of a chunk at most") {
  for (const std::int32_t v : {2, 3}) {
    const Schedule schedule = generate("interleaved-zb", {.num_devices = 4, .num_microbatches = 12, .chunks = v});
    CHECK(largest_peak(schedule) <= (v - 1) * 4 + 4);
  }
}

TEST_CASE("interleaved-zb idles less than interleaved") {
  const ScheduleParams params{.num_devices = 4, .num_microbatches = 12};
  CHECK(longest_device_span(generate("interleaved-zb", params), kEqualPasses) <
        longest_device_span(generate("interleaved", params), kEqualPasses));
}

TEST_CASE("the picture of interleaved-zb is the one in tests/golden") {
  const std::string actual = picture(generate("interleaved-zb", {.num_devices = 3, .num_microbatches = 6}), {});
  CHECK(actual == golden("schedules/interleaved_zb.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
