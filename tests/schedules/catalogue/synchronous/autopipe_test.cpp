#include <doctest/doctest.h>

#include <algorithm>

#include "models/sources/abstract_costs.hpp"
#include "schedules/catalogue/registry.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/stage_list.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

Schedule autopipe(std::int64_t p, std::int64_t m, std::map<std::string, std::string> options = {}) {
  return generate("autopipe",
                  {.num_devices = static_cast<std::int32_t>(p), .num_microbatches = m, .options = std::move(options)});
}

/// In halves of a forward: F = 2, B = 4.
std::int64_t autopipe_makespan(const Schedule& schedule) {
  const std::int64_t halves = schedule.slices ? 1 : 2;
  return replay(schedule, {.f = halves, .b = 2 * halves}).makespan;
}

}  // namespace

TEST_CASE("autopipe lists are the published ones for one sliced microbatch") {
  const Schedule schedule = autopipe(4, 8);
  CHECK(stage_list(schedule, 0) == "F0.0 F0.1 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 F7 B4 B5 B6 B7");
  CHECK(stage_list(schedule, 1) == "F0.0 F0.1 F1 F2 B0 F3 B1 F4 B2 F5 B3 F6 B4 F7 B5 B6 B7");
  CHECK(stage_list(schedule, 2) == "F0.0 F0.1 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 F6 B5 F7 B6 B7");
  CHECK(stage_list(schedule, 3) == "F0.0 F0.1 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7");
}

TEST_CASE("sliced forwards of autopipe stand where 1f1b has the whole ones") {
  for (const std::int64_t p : {1, 2, 3, 5}) {
    for (const std::int64_t m : {1, 2, 4, 9}) {
      const Schedule whole = generate("1f1b", {.num_devices = static_cast<std::int32_t>(p), .num_microbatches = m});
      for (std::int64_t sliced = 1; sliced <= std::min(m, 2 * p); ++sliced) {
        for (std::int64_t d = 0; d < p; ++d) {
          std::string expected;
          for (const Action& action : expand(whole.devices[static_cast<std::size_t>(d)])) {
            if (action.op == Op::kU) continue;
            const auto number = static_cast<std::int32_t>(action.microbatch);
            const std::string text = (action.op == Op::kF ? "F" : "B") + std::to_string(number);
            if (!expected.empty()) expected += " ";
            expected += action.op == Op::kF && number < sliced ? text + ".0 " + text + ".1" : text;
          }
          CHECK(stage_list(autopipe(p, m, {{"sliced", std::to_string(sliced)}}), d) == expected);
        }
      }
    }
  }
}

TEST_CASE("autopipe takes (p - 1) F / 2 less than 1f1b, with the published numbers of sliced microbatches") {
  CHECK(autopipe_makespan(autopipe(4, 8)) == 2 * 31.5);
  CHECK(autopipe_makespan(autopipe(8, 16, {{"sliced", "1"}})) == 2 * 67);
  CHECK(autopipe_makespan(autopipe(8, 16)) == 2 * 65.5);
  CHECK(autopipe_makespan(autopipe(8, 8, {{"sliced", "1"}})) == 2 * 43);
  CHECK(autopipe_makespan(autopipe(8, 8)) == 2 * 41.5);
  CHECK(std::get<std::int64_t>(autopipe(4, 8).parameters.at("sliced")) == 1);
  CHECK(std::get<std::int64_t>(autopipe(8, 16).parameters.at("sliced")) == 2);
  for (const std::int64_t p : {2, 3, 6, 12}) {
    for (const std::int64_t m : {p, 3 * p}) CHECK(autopipe_makespan(autopipe(p, m)) == 6 * (m + p - 1) - (p - 1));
  }
}

TEST_CASE("one device and one microbatch") {
  CHECK_FALSE(autopipe(1, 4).slices.has_value());  // nothing to fill
  CHECK(autopipe_makespan(autopipe(4, 1)) < 6 * 4);
}

TEST_CASE("sliced microbatches take no more memory: device d keeps min(p - d, m)") {
  CHECK(peak_stashes(autopipe(4, 8)) == std::vector<std::int64_t>{8, 6, 4, 2});  // in halves
}

TEST_CASE("autopipe names the rule that a request breaks") {
  CHECK(error_message([] {
          autopipe(4, 3, {{"sliced", "4"}});
        }) == "autopipe: sliced (4) must be at most num_microbatches and at most 2 num_devices");
  CHECK(error_message([] { autopipe(513, 3); }) == "autopipe: num_devices (513) must be at most 512");
}

TEST_CASE("the picture of autopipe is the one in tests/golden") {
  const std::string actual = picture(autopipe(4, 8), {.f = 1, .b = 2});
  CHECK(actual == golden("schedules/autopipe.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
