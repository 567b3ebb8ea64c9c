#include <doctest/doctest.h>

#include <algorithm>

#include "models/sources/abstract_costs.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/checks/validate.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/stage_list.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

Schedule varuna(std::int64_t p, std::int64_t m) {
  return generate("varuna", {.num_devices = static_cast<std::int32_t>(p), .num_microbatches = m});
}

Schedule varuna_for(std::int64_t p, std::int64_t m, const char* costs) {
  return generate(
      "varuna", {.num_devices = static_cast<std::int32_t>(p), .num_microbatches = m, .costs = [=](std::int32_t stages) {
                   return abstract_costs(costs, "", {.num_stages = stages, .recompute = true});
                 }});
}

}  // namespace

TEST_CASE("varuna lists are those of the released generator") {
  const auto check = [](std::int64_t m, const char* d0, const char* d1, const char* d2, const char* d3) {
    const Schedule schedule = varuna(4, m);
    CHECK(stage_list(schedule, 0) == d0);
    CHECK(stage_list(schedule, 1) == d1);
    CHECK(stage_list(schedule, 2) == d2);
    CHECK(stage_list(schedule, 3) == d3);
  };
  check(4, "F0 F1 F2 F3 R0 B0 R1 B1 R2 B2 R3 B3", "F0 F1 F2 F3 R0 B0 R1 B1 R2 B2 R3 B3",
        "F0 F1 F2 R0 B0 R1 B1 R2 B2 F3 R3 B3", "F0 B0 F1 B1 F2 B2 F3 B3");
  check(5, "F0 F1 F2 F3 F4 R0 B0 R1 B1 R2 B2 R3 B3 R4 B4", "F0 F1 F2 F3 F4 R0 B0 R1 B1 R2 B2 R3 B3 R4 B4",
        "F0 F1 F2 R0 B0 R1 B1 R2 B2 F3 F4 R3 B3 R4 B4", "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4");
  check(8, "F0 F1 F2 F3 F4 F5 F6 F7 R0 B0 R1 B1 R2 B2 R3 B3 R4 B4 R5 B5 R6 B6 R7 B7",
        "F0 F1 F2 F3 F4 F5 R0 B0 R1 B1 R2 B2 F6 F7 R3 B3 R4 B4 R5 B5 R6 B6 R7 B7",
        "F0 F1 F2 R0 B0 R1 B1 R2 B2 F3 F4 F5 R3 B3 R4 B4 R5 B5 F6 F7 R6 B6 R7 B7",
        "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7");
}

TEST_CASE("varuna takes the times of the released generator") {
  const auto makespan = [](std::int64_t p, std::int64_t m) { return replay(varuna(p, m), {.f = 1, .b = 2}).makespan; };
  CHECK(makespan(4, 4) == 24);
  CHECK(makespan(4, 5) == 27);
  CHECK(makespan(4, 8) == 39);
  CHECK(makespan(5, 10) == 51);
  CHECK(makespan(5, 20) == 90);
  CHECK(makespan(10, 20) == 105);
  CHECK(makespan(10, 50) == 225);
}

TEST_CASE("device d of varuna keeps 3 (p - 1 - d) inputs once there are enough microbatches, the last one 1") {
  CHECK(peak_stashes(varuna(4, 8)) == std::vector<std::int64_t>{8, 6, 3, 1});
  CHECK(peak_stashes(varuna(10, 50)) == std::vector<std::int64_t>{27, 24, 21, 18, 15, 12, 9, 6, 3, 1});
}

TEST_CASE("varuna keeps one recomputed activation at a time, and none of the last stage is recomputed") {
  for (const std::int64_t p : {1, 2, 3, 5}) {
    for (const std::int64_t m : {1, 2, 5, 16}) {
      const Schedule schedule = varuna(p, m);
      for (std::int64_t d = 0; d < p; ++d) {
        const auto list = expand(schedule.devices[static_cast<std::size_t>(d)]);
        for (std::size_t i = 0; i < list.size(); ++i) {
          const bool alone = list[i].op == Op::kB && d < p - 1;
          if (alone) CHECK((list[i - 1].op == Op::kR && list[i - 1].microbatch == list[i].microbatch));
          if (d == p - 1) CHECK(list[i].op != Op::kR);
        }
      }
    }
  }
}

TEST_CASE("the order of varuna follows the costs that were asked for, and stays possible") {
  const Schedule slow_backward = varuna_for(4, 8, "F=1,B=5");
  CHECK(slow_backward.devices != varuna(4, 8).devices);
  for (const char* costs : {"F=1,B=2,comm=1", "F=3,B=1", "F=0,B=0", "F=1,B=2,R=0.5,comm=3"}) {
    for (const std::int64_t p : {1, 2, 4}) {
      for (const std::int64_t m : {1, 3, 9}) {
        CAPTURE(costs);
        CAPTURE(p);
        CAPTURE(m);
        CHECK(validate(varuna_for(p, m, costs)).empty());
      }
    }
  }
}

TEST_CASE("a rule is not played through for ever") {
  CHECK(error_message([] { varuna(8, 1'000'000'000); }) ==
        "varuna: microbatches times stages (8000000000) must be at most 16777216, because the rule is played through");
}

TEST_CASE("the picture of varuna is the one in tests/golden") {
  const std::string actual = picture(varuna(4, 8), {});
  CHECK(actual == golden("schedules/varuna.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
