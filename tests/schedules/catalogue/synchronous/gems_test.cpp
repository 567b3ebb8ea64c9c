#include <doctest/doctest.h>

#include "schedules/catalogue/registry.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/unrolled.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

Schedule gems(std::int64_t p, std::int64_t m) {
  return generate("gems", {.num_devices = static_cast<std::int32_t>(p), .num_microbatches = m});
}

}  // namespace

TEST_CASE("microbatches of gems take turns between the two copies") {
  for (const std::int64_t p : {1, 2, 3, 4}) {
    for (const std::int64_t m : {1, 2, 5, 8}) {
      for (std::int64_t d = 0; d < p; ++d) {
        CAPTURE(p);
        CAPTURE(m);
        CAPTURE(d);
        const std::string down = std::to_string(d);
        const std::string up = "1:" + std::to_string(p - 1 - d);
        std::string list;
        for (std::int64_t k = 0; k < m; ++k) {
          const std::string stage = k % 2 == 0 ? down : up;
          list += stage + "F" + std::to_string(k) + " " + stage + "B" + std::to_string(k) + " ";
        }
        CHECK(list_text(gems(p, m), d) ==
              list + down + "REDUCE_GRAD " + up + "REDUCE_GRAD " + down + "U0 " + up + "U0");
      }
    }
  }
}

TEST_CASE("gems takes p F + m p B + (m - 1) F and keeps one activation per device") {
  for (const std::int64_t p : {1, 2, 3, 4, 8}) {
    for (const std::int64_t m : {1, 2, 3, 4, 8}) {
      for (const std::int64_t b : {1, 2}) {
        CAPTURE(p);
        CAPTURE(m);
        CAPTURE(b);
        CHECK(replay(gems(p, m), {.f = 1, .b = b}).makespan == p + m * p * b + m - 1);
        CHECK(peak_stashes(gems(p, m)) == std::vector<std::int64_t>(static_cast<std::size_t>(p), 1));
      }
    }
  }
}

TEST_CASE("the bubble of gems approaches (p - 1)/(p + 1/2) for B = 2F") {
  for (const std::int64_t p : {4, 8, 16}) {
    CAPTURE(p);
    const std::int64_t m = 2000;
    const auto makespan = static_cast<double>(replay(gems(p, m), {.f = 1, .b = 2}).makespan);
    const double bubble = 1 - 3.0 * static_cast<double>(m) / makespan;
    CHECK(bubble == doctest::Approx((static_cast<double>(p) - 1) / (static_cast<double>(p) + 0.5)).epsilon(1e-3));
  }
}

TEST_CASE("the picture of gems is the one in tests/golden") {
  const std::string actual = picture(generate("gems", {.num_devices = 3, .num_microbatches = 4}), {});
  CHECK(actual == golden("schedules/gems.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
