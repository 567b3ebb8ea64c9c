#include <doctest/doctest.h>

#include "schedules/catalogue/registry.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/unrolled.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

Schedule fold3d(std::int32_t p, std::int64_t m, std::int32_t v, std::int64_t replicas) {
  return generate(
      "fold3d",
      {.num_devices = p, .num_microbatches = m, .chunks = v, .options = {{"replicas", std::to_string(replicas)}}});
}

}  // namespace

TEST_CASE("all microbatches of fold3d leave a segment before the next one starts") {
  for (const std::int32_t replicas : {1, 2, 3}) {
    for (const std::int32_t length : {1, 2, 4}) {
      for (const std::int32_t v : {1, 2, 3}) {
        for (const std::int64_t share : {1, 2, 7}) {
          CAPTURE(replicas);
          CAPTURE(length);
          CAPTURE(v);
          const Schedule schedule = fold3d(replicas * length, replicas * share, v, replicas);
          for (std::int32_t d = 0; d < replicas * length; ++d) {
            const std::int32_t replica = d / length;
            std::string expected;
            const auto add = [&](std::int32_t chunk, const std::string& what) {
              expected += (replica > 0 ? std::to_string(replica) + ":" : "") +
                          std::to_string(chunk * length + d % length) + what + " ";
            };
            for (std::int32_t c = 0; c < v; ++c) {
              for (std::int64_t k = 0; k < share; ++k) add(c, "F" + std::to_string(replica * share + k));
            }
            for (std::int32_t c = v - 1; c >= 0; --c) {
              for (std::int64_t k = 0; k < share; ++k) add(c, "B" + std::to_string(replica * share + k));
              if (replicas > 1) add(c, "REDUCE_GRAD");
            }
            for (std::int32_t c = v - 1; c >= 0; --c) add(c, "U0");
            CHECK(list_text(schedule, d) + " " == expected);
          }
        }
      }
    }
  }
}

TEST_CASE("the bubble of fold3d is that of one pass of a stage: (p - 1)(F + B) / v") {
  for (const std::int32_t p : {1, 2, 4}) {
    for (const std::int32_t v : {1, 2, 4}) {
      for (const std::int64_t m : {4, 8}) {
        const std::int64_t makespan = replay(fold3d(p, m, v, 1), {.f = 1, .b = 2}).makespan;
        CHECK(makespan == 3 * (m * v + p - 1));
      }
    }
  }
}

TEST_CASE("every device of fold3d keeps all microbatches of its pipeline") {
  CHECK(peak_stashes(fold3d(4, 12, 2, 2)) == std::vector<std::int64_t>(4, 12));  // 6 microbatches, two chunks each
}

TEST_CASE("the copies of fold3d must share out devices and microbatches") {
  CHECK(error_message([] { fold3d(4, 9, 2, 2); }) ==
        "fold3d: replicas (2) must divide num_devices (4) and num_microbatches (9)");
}

TEST_CASE("the picture of fold3d is the one in tests/golden") {
  const std::string actual = picture(fold3d(4, 8, 2, 2), {});
  CHECK(actual == golden("schedules/fold3d.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
