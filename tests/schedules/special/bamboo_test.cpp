#include <doctest/doctest.h>

#include <algorithm>

#include "schedules/list_times.hpp"
#include "schedules/registry.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/stage_list.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

Schedule bamboo(std::int64_t p, std::int64_t m, const char* wrap = "no") {
  return generate("bamboo",
                  {.num_devices = static_cast<std::int32_t>(p), .num_microbatches = m, .options = {{"wrap", wrap}}});
}

}  // namespace

TEST_CASE("without its redundant forwards bamboo is 1f1b, and each of them stands right before its backward") {
  for (const std::int64_t p : {1, 2, 3, 5}) {
    for (const std::int64_t m : {1, 2, 4, 9}) {
      for (const char* wrap : {"no", "yes"}) {
        const Schedule ours = bamboo(p, m, wrap);
        const Schedule plain = generate("1f1b", {.num_devices = static_cast<std::int32_t>(p), .num_microbatches = m});
        for (std::int64_t d = 0; d < p; ++d) {
          std::string expected;
          const bool redundant = d + 1 < p || *wrap == 'y';
          for (const Action& action : expand(plain.devices[static_cast<std::size_t>(d)])) {
            if (action.op == Op::kU) continue;
            const std::string number = std::to_string(static_cast<std::int32_t>(action.microbatch));
            if (!expected.empty()) expected += " ";
            if (action.op == Op::kB && redundant) expected += "X" + number + " ";
            expected += (action.op == Op::kF ? "F" : "B") + number;
          }
          CHECK(stage_list(ours, d) == expected);
        }
      }
    }
  }
}

TEST_CASE("with equal stages the redundant forwards of bamboo are exposed: (m + p - 1)(F + B) + m X") {
  for (const std::int64_t p : {2, 3, 4, 8}) {
    for (const std::int64_t m : {p, 2 * p, 3 * p + 1}) {
      CAPTURE(p);
      CAPTURE(m);
      CHECK(replay(bamboo(p, m, "yes"), {.f = 1, .b = 2, .x = 1}).makespan == 3 * (m + p - 1) + m);
      CHECK(replay(bamboo(p, m), {.f = 1, .b = 2, .x = 0}).makespan == 3 * (m + p - 1));
    }
  }
}

TEST_CASE("where every stage takes longer than the one before by a redundant forward, bamboo costs nothing") {
  const Schedule redundant = bamboo(4, 12);
  const Schedule plain = generate("1f1b", {.num_devices = 4, .num_microbatches = 12});
  const auto duration = [](const Action& action) -> Ticks {
    const auto stage = static_cast<Ticks>(action.stage);
    if (action.op == Op::kU) return 0;
    return action.op == Op::kB ? 2 * (10 + 6 * stage) : 10 + 6 * stage;  // X: the forward of the next stage at most
  };
  const auto with_x = [&](const Action& action) { return action.op == Op::kX ? Ticks{16} : duration(action); };
  CHECK(list_times(redundant, with_x, 0).makespan == list_times(plain, duration, 0).makespan);
}

TEST_CASE("bamboo keeps the activations of 1f1b and the weights of a second stage") {
  const Schedule schedule = bamboo(4, 8);
  CHECK(peak_stashes(schedule) == std::vector<std::int64_t>{4, 3, 2, 1});
  CHECK(schedule.weights.correction_buffers.size() == 1);
}

TEST_CASE("the picture of bamboo is the one in tests/golden") {
  const std::string actual = picture(bamboo(4, 6), {});
  CHECK(actual == golden("schedules/bamboo.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
