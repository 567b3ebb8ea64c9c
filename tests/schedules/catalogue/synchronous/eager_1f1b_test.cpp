#include <doctest/doctest.h>

#include "schedules/catalogue/registry.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {

TEST_CASE("eager-1f1b is dapple with policy b") {
  for (const std::int32_t p : {1, 2, 5, 8}) {
    for (const std::int64_t m : {1, 3, 8, 21}) {
      CAPTURE(p);
      CAPTURE(m);
      const Schedule eager = generate("eager-1f1b", {.num_devices = p, .num_microbatches = m, .updates = 2});
      const Schedule dapple =
          generate("dapple", {.num_devices = p, .num_microbatches = m, .updates = 2, .options = {{"policy", "b"}}});
      CHECK(eager.devices == dapple.devices);
    }
  }
}

TEST_CASE("device d of eager-1f1b runs 2(p - d) - 1 forwards ahead, so that the last device needs one activation") {
  CHECK(peak_stashes(generate("eager-1f1b", {.num_devices = 4, .num_microbatches = 8})) ==
        std::vector<std::int64_t>{7, 5, 3, 1});
  CHECK(replay(generate("eager-1f1b", {.num_devices = 4, .num_microbatches = 8}), {.f = 1, .b = 2}).makespan == 33);
}

TEST_CASE("the picture of eager-1f1b is the one in tests/golden") {
  const std::string actual = picture(generate("eager-1f1b", {.num_devices = 4, .num_microbatches = 8}), {});
  CHECK(actual == golden("schedules/eager_1f1b.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
