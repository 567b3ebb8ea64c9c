#include <doctest/doctest.h>

#include <cstdint>

#include "schedules/catalogue/registry.hpp"
#include "schedules/checks/validate.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

Schedule tspipe(std::int64_t p, std::int64_t m, std::int64_t updates) {
  return generate("tspipe", {.num_devices = static_cast<std::int32_t>(p), .num_microbatches = m, .updates = updates});
}

}  // namespace

TEST_CASE("an update of tspipe takes as long as every device's work: 24 for four devices, forwards 1 and backwards 2") {
  // Per half microbatch, in halves of the paper's units: F = 1 and B = 2, so that its 24 are 48.
  const auto makespan = [](std::int64_t p, std::int64_t updates) {
    return replay(tspipe(p, 4 * (p - 1), updates), {.f = 1, .b = 2}).makespan;
  };
  CHECK(makespan(4, 6) - makespan(4, 5) == 48);
  for (const std::int64_t p : {2, 3, 5, 8}) {
    CAPTURE(p);
    CHECK(makespan(p, 6) - makespan(p, 5) == 16 * (p - 1));
  }
}

TEST_CASE("tspipe fits any number of microbatches from 4 (p - 1) on, and refuses others") {
  for (const std::int64_t m : {8, 10, 16, 30}) {
    CAPTURE(m);
    const Schedule schedule = tspipe(3, m, 3);
    CHECK(validate(schedule).empty());
    CHECK(replay(schedule, {.f = 1, .b = 2}).finished);
  }
  const std::string odd = error_message([] { tspipe(3, 9, 3); });
  CHECK(odd == "tspipe: num_microbatches (9) must be even and at least 4 (p - 1) = 8");
  CHECK_FALSE(error_message([] { tspipe(3, 6, 3); }).empty());
}

TEST_CASE("the picture of tspipe is the one in tests/golden") {
  const std::string actual = picture(tspipe(3, 8, 2), {});
  CHECK(actual == golden("schedules/tspipe.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
