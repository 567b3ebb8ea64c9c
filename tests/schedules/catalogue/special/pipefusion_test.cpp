#include <doctest/doctest.h>

#include <algorithm>

#include "schedules/catalogue/registry.hpp"
#include "schedules/checks/validate.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/unrolled.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

Schedule pipefusion(std::int64_t p, std::int64_t patches, std::int64_t steps, std::int64_t warmup = 1) {
  return generate("pipefusion",
                  {.num_devices = static_cast<std::int32_t>(p),
                   .num_microbatches = patches * steps,
                   .options = {{"patches", std::to_string(patches)}, {"warmup", std::to_string(warmup)}}});
}

}  // namespace

TEST_CASE("pipefusion warms up over whole images, then takes patch after patch") {
  CHECK(list_text(pipefusion(2, 3, 3), 0) == "0F0+1+2 0F3 0F4 0F5 0F6 0F7 0F8");
  CHECK(list_text(pipefusion(2, 2, 4, 2), 1) == "1F0+1 1F2+3 1F4 1F5 1F6 1F7");
}

TEST_CASE("a patch waits for itself in the step before, not for the other patches") {
  const Schedule schedule = pipefusion(3, 2, 4, 2);
  std::string edges;
  for (const ExtraEdge& edge : schedule.extra_edges) {
    edges += to_string(edge.before) + "->" + to_string(edge.after) + " ";
  }
  CHECK(edges == "2F0+1->0F2+3 2F2+3->0F4 2F2+3->0F5 2F4->0F6 2F5->0F7 ");
}

TEST_CASE("pipefusion takes warmup p M + (steps - warmup) max(M, p) + min(M, p) - 1 forwards of a patch") {
  for (const std::int64_t p : {1, 2, 4, 8}) {
    for (const std::int64_t patches : {1, 2, 4, 7, 16}) {
      for (const std::int64_t steps : {2, 3, 10}) {
        for (const std::int64_t warmup : {1, 2}) {
          CAPTURE(p);
          CAPTURE(patches);
          CAPTURE(steps);
          CAPTURE(warmup);
          const Schedule schedule = pipefusion(p, patches, steps, warmup);
          CHECK(validate(schedule).empty());
          const std::int64_t rest =
              steps > warmup ? (steps - warmup) * std::max(patches, p) + std::min(patches, p) - 1 : 0;
          CHECK(replay(schedule, {.f = 1}).makespan == warmup * p * patches + rest);
        }
      }
    }
  }
}

TEST_CASE("several images come one after another, each with a warm-up of its own") {
  const Schedule schedule = generate("pipefusion", {.num_devices = 2, .num_microbatches = 4, .updates = 2});
  CHECK(list_text(schedule, 0) == "0F0+1 0F2 0F3 0F4+5 0F6 0F7");
}

TEST_CASE("pipefusion names the rule that a request breaks") {
  CHECK(error_message([] { generate("pipefusion", {.num_devices = 4, .num_microbatches = 6}); }) ==
        "pipefusion: patches (4) must be at most 128 and divide num_microbatches (6), which is patches times steps");
  CHECK(error_message([] { pipefusion(4, 4, 2, 3); }) ==
        "pipefusion: warmup (3) must be at most the number of steps (2)");
}

TEST_CASE("the picture of pipefusion is the one in tests/golden") {
  const std::string actual = picture(pipefusion(3, 3, 4), {});
  CHECK(actual == golden("schedules/pipefusion.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
