#include <doctest/doctest.h>

#include <algorithm>

#include "schedules/catalogue/registry.hpp"
#include "schedules/checks/validate.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/program/list_times.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/stage_list.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

Schedule bamboo(std::int64_t p, std::int64_t m, const char* wrap = "no", const std::string& lost = "") {
  ScheduleParams params{.num_devices = static_cast<std::int32_t>(p), .num_microbatches = m};
  params.options["wrap"] = wrap;
  if (!lost.empty()) params.options["lost"] = lost;
  return generate("bamboo", params);
}

/// What one stage does, in order, wherever it runs.
std::string of_stage(const Schedule& schedule, std::int64_t stage, bool with_redundant = true) {
  std::string text;
  for (const DeviceList& list : schedule.devices) {
    for (const Action& action : expand(list)) {
      if (static_cast<std::int64_t>(action.stage) != stage || (action.op == Op::kX && !with_redundant)) continue;
      text += to_string(action) + " ";
    }
  }
  return text;
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

TEST_CASE("the device before a lost one runs both stages, each in its own order, a backward first") {
  for (const std::int64_t p : {2, 3, 5}) {
    for (const std::int64_t m : {1, 4, 9}) {
      for (std::int64_t lost = 0; lost < p; ++lost) {
        CAPTURE(p);
        CAPTURE(m);
        CAPTURE(lost);
        const Schedule after = bamboo(p, m, "yes", std::to_string(lost));
        CHECK(validate(after).empty());
        REQUIRE(after.num_devices == p - 1);
        const std::int64_t before = (lost + p - 1) % p;
        CHECK(after.placement[0][static_cast<std::size_t>(lost)] ==
              after.placement[0][static_cast<std::size_t>(before)]);
        for (std::int64_t stage = 0; stage < p; ++stage) {
          const Schedule whole = bamboo(p, m, "yes");
          const bool redundant = stage != lost && stage != before;
          CHECK(of_stage(after, stage) == of_stage(whole, stage, redundant));
        }
      }
    }
  }
  CHECK(stage_list(bamboo(2, 3, "no", "1"), 0) == "F0 F1 F0 B0 B0 F2 F1 B1 B1 F2 B2 B2");
}

TEST_CASE("with equal stages the device of two stages paces the step that bamboo takes after a loss") {
  // Device 1 runs stages 1 and 2; one more forward on stage 0 fills, and its backward drains. Stage 0 repeats stage 1.
  const Replay run = replay(bamboo(3, 20, "no", "2"), {.f = 1, .b = 2, .x = 0});
  CHECK(run.makespan == 1 + 20 * 6 + 2);
}

TEST_CASE("bamboo keeps the activations of 1f1b and the weights of a second stage") {
  const Schedule schedule = bamboo(4, 8);
  CHECK(peak_stashes(schedule) == std::vector<std::int64_t>{4, 3, 2, 1});
  CHECK(schedule.weights.correction_buffers.size() == 1);
}

TEST_CASE("bamboo names the rule that a request breaks") {
  CHECK(error_message([] { bamboo(4, 8, "no", "0"); }) ==
        "bamboo: option lost=0 needs wrap=yes: nobody else has a copy of the first stage");
  CHECK(error_message([] { bamboo(4, 8, "no", "4"); }) == "bamboo: lost (4) must be one of several stages, 0 to p - 1");
}

TEST_CASE("the picture of bamboo is the one in tests/golden") {
  const std::string actual = picture(bamboo(4, 6), {});
  CHECK(actual == golden("schedules/bamboo.txt", actual));
}

}  // namespace plumb::testing

TEST_SUITE_END();
