#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "models/sources/abstract_costs.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/checks/validate.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/unrolled.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

struct Supernet {
  std::int32_t p = 1;
  std::int64_t blocks = 1;
  std::int64_t candidates = 1;
  std::int64_t subnets = 1;
  std::int64_t seed = 1;
  std::int64_t window = 200;
};

Schedule naspipe(const Supernet& of, const std::string& costs = "F=1,B=1") {
  ScheduleParams params{.num_devices = of.p,
                        .num_microbatches = of.subnets,
                        .options = {{"blocks", std::to_string(of.blocks)},
                                    {"candidates", std::to_string(of.candidates)},
                                    {"seed", std::to_string(of.seed)},
                                    {"window", std::to_string(of.window)}}};
  params.costs = [costs](std::int32_t stages) { return abstract_costs(costs, "", {.num_stages = stages}); };
  return generate("naspipe", params);
}

std::int64_t makespan(const Supernet& of) { return replay(naspipe(of), {.f = 1, .b = 1}).makespan; }

}  // namespace

// The released program throughput/translation/bubble.py, given the same subnets, counts these steps.
TEST_CASE("naspipe takes as many steps as the released simulation of its order") {
  CHECK(makespan({4, 8, 48, 200, 1}) == 670);
  CHECK(makespan({4, 8, 24, 200, 1}) == 944);
  CHECK(makespan({4, 8, 12, 200, 2}) == 1266);
  CHECK(makespan({2, 4, 8, 100, 3}) == 250);
  CHECK(makespan({8, 4, 48, 300, 1}) == 1813);
  CHECK(makespan({4, 8, 96, 400, 5}) == 981);
  CHECK(makespan({3, 2, 4, 60, 7}) == 258);
  CHECK(makespan({4, 8, 48, 200, 1, 8}) == 674);
}

TEST_CASE("with one candidate everywhere one subnet of naspipe follows the other") {
  for (const std::int32_t p : {1, 2, 4}) CHECK(makespan({p, 2, 1, 5}) == 5 * 2 * p);
}

TEST_CASE("with a million candidates no two subnets of naspipe conflict, and no device that has work waits") {
  const Supernet wide{.p = 4, .blocks = 1, .candidates = 1'000'000, .subnets = 32};
  CHECK(makespan(wide) == 2 * 32 + 2 * 3);
}

TEST_CASE("the lists of naspipe are valid for any size and keep every subnet once") {
  for (const std::int32_t p : {1, 2, 3}) {
    for (const std::int64_t subnets : {1, 2, 7}) {
      const Schedule schedule = naspipe({.p = p, .blocks = 2, .candidates = 3, .subnets = subnets}, "F=2,B=3");
      CHECK(validate(schedule).empty());
      for (const DeviceList& list : schedule.devices)
        CHECK(expand(list).size() == 2 * static_cast<std::size_t>(subnets) + 1);
    }
  }
}

TEST_CASE("more choice blocks than naspipe plays are refused") {
  CHECK(error_message([] { naspipe({.p = 2, .blocks = 65, .candidates = 2, .subnets = 2}); }) ==
        "naspipe: blocks must be at most 64");
}

TEST_CASE("the picture of naspipe is the one in tests/golden") {
  const std::string actual = picture(naspipe({.p = 3, .blocks = 1, .candidates = 3, .subnets = 6}), {});
  CHECK(actual == golden("schedules/naspipe.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
