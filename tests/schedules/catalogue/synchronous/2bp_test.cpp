#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "schedules/catalogue/registry.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/unrolled.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

Schedule two_stage(std::int64_t p, std::int64_t m, std::map<std::string, std::string> options) {
  return generate("2bp", {.num_devices = static_cast<std::int32_t>(p), .num_microbatches = m, .options = options});
}

}  // namespace

TEST_CASE("2bp puts a weight gradient before each input gradient of the drain, and the others last") {
  for (const std::int64_t p : {1, 2, 4, 7}) {
    for (const std::int64_t m : {1, 2, 3, 8, 20}) {
      for (std::int64_t d = 0; d < p; ++d) {
        CAPTURE(p);
        CAPTURE(m);
        CAPTURE(d);
        Unrolled list;
        std::int64_t f = 0;
        std::int64_t w = 0;
        for (; f < std::min(p - 1 - d, m); ++f) list.add(d, "F", f);
        for (std::int64_t i = 0; i < m; ++i) {
          if (f < m) {
            list.add(d, "F", f++);
          } else if (w < i) {
            list.add(d, "W", w++);
          }
          list.add(d, "I", i);
        }
        while (w < m) list.add(d, "W", w++);
        list.add(d, "U", 0);
        CHECK(list_text(two_stage(p, m, {}), d) == list.text());
      }
    }
  }
}

TEST_CASE("2bp has the published lengths at F = I = W = 1") {
  for (const std::int64_t p : {2, 4, 8, 16}) {
    CAPTURE(p);
    CHECK(replay(two_stage(p, 1, {{"base", "gpipe"}}), {}).makespan == 2 * p + 1);
    CHECK(replay(two_stage(p, p, {{"base", "gpipe"}}), {}).makespan == 5 * p - 2);
    CHECK(replay(two_stage(p, p, {}), {}).makespan == 4 * p - 1);
    CHECK(replay(two_stage(p, 2 * p, {}), {}).makespan == 7 * p - 1);
  }
}

TEST_CASE("gaps matter: with all weight gradients at the end 2bp takes 18 and 30 instead of 15 and 27") {
  CHECK(replay(two_stage(4, 4, {{"weights", "end"}}), {}).makespan == 18);
  CHECK(replay(two_stage(4, 8, {{"weights", "end"}}), {}).makespan == 30);
}

TEST_CASE("weight gradients at the end of 2bp come N at a time, the last ones fewer") {
  CHECK(list_text(two_stage(2, 5, {{"weights", "end"}, {"concat", "2"}}), 1) ==
        "1F0 1I0 1F1 1I1 1F2 1I2 1F3 1I3 1F4 1I4 1W0+1 1W2+3 1W4 1U0");
  CHECK(list_text(two_stage(2, 5, {{"concat", "3"}}), 0) ==
        "0F0 0F1 0I0 0F2 0I1 0F3 0I2 0F4 0I3 0W0 0I4 0W1+2+3 0W4 0U0");
  CHECK(replay(two_stage(4, 8, {{"concat", "128"}}), {}).makespan == 27);
}

TEST_CASE("2bp keeps what the weight gradients need of up to all microbatches") {
  CHECK(peak_stashes(two_stage(4, 4, {})) == std::vector<std::int64_t>(4, 4));
  CHECK(peak_stashes(two_stage(4, 8, {})) == std::vector<std::int64_t>(4, 8));
}

TEST_CASE("2bp names the rule that a request breaks") {
  CHECK(error_message([] { two_stage(4, 8, {{"concat", "129"}}); }) == "2bp: concat (129) must be at most 128");
}

TEST_CASE("the picture of 2bp is the one in tests/golden") {
  const std::string actual = picture(generate("2bp", {.num_devices = 4, .num_microbatches = 4}), {});
  CHECK(actual == golden("schedules/2bp.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
