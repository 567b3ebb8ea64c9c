#include "schedules/versions/steady_delays.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "schedules/catalogue/registry.hpp"
#include "schedules/document/methods.hpp"
#include "schedules/versions/delays.hpp"
#include "schedules/versions/method_buffers.hpp"
#include "tests/support/versions_read.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

struct FlushFree {
  std::string name;
  std::map<std::string, std::string> options;
};

const std::vector<FlushFree> kFlushFree{
    {"pipemare", {{"timing", "slots"}}},
    {"pipemare", {{"timing", "1f1b"}}},
    {"pipemare", {{"timing", "slots"}, {"segment", "3"}}},
    {"pipemare", {{"timing", "slots"}, {"synchronous", "2"}}},
    {"pipedream", {{"timing", "slots"}}},
    {"pipedream", {{"timing", "1f1b"}}},
    {"pipedream-vs", {{"timing", "slots"}}},
    {"paci", {{"timing", "slots"}}},
    {"pipelined-backpropagation", {}},
    {"spectrain", {}},
    {"pipeoptim", {}},
};

}  // namespace

TEST_CASE("the closed form of every delay is what a long document measures once its pipeline is full") {
  for (const FlushFree& of : kFlushFree) {
    for (const std::int64_t m : {2, 3, 5, 10}) {
      if (of.name == "paci" && m < 10) continue;  // a microbatch crosses at most one update there
      CAPTURE(of.name);
      CAPTURE(m);
      const Schedule schedule =
          generate(of.name, {.num_devices = 5, .num_microbatches = m, .updates = 40, .options = of.options});
      const Program program = lowered(schedule);
      REQUIRE(reaches_steady_state(schedule, program));
      CHECK(has_closed_delays(schedule));
      for (const StageDelays& measured : stage_delays(schedule, program)) {
        CAPTURE(static_cast<int>(measured.stage));
        const std::optional<SteadyDelays> closed = steady_delays(schedule, measured.stage);
        REQUIRE(closed);
        CHECK(closed->forward == doctest::Approx(mean_delay(measured.forward)).epsilon(1e-12));
        CHECK(closed->backward == doctest::Approx(mean_delay(measured.backward)).epsilon(1e-12));
        CHECK(closed->distance == mean_delay(measured.distance));
        if (!measured.recompute.empty()) {
          CHECK(closed->recompute == doctest::Approx(mean_delay(measured.recompute)).epsilon(1e-12));
        }
      }
    }
  }
}

TEST_CASE(
    "weight policies say how late a pass is: by D, by that of stage 0, by one update, by so many, or not at all") {
  // Four stages in slots: D = 2 (4 - s) - 1; 3 microbatches per update.
  Schedule schedule =
      generate("pipemare", {.num_devices = 4, .num_microbatches = 3, .updates = 40, .options = {{"timing", "slots"}}});
  schedule.weights.per_stage.clear();
  const auto delays = [&](WeightPolicy policy, std::int32_t stage) {
    schedule.weights.policy = policy;
    return steady_delays(schedule, StageId{stage});
  };
  for (const std::int32_t stage : {0, 1, 2, 3}) {
    CAPTURE(stage);
    const double distance = 2.0 * (4 - stage) - 1;
    const double late = distance / 3;
    CHECK(delays(WeightPolicy::kStash, stage) == SteadyDelays{late, late, late, distance});
    CHECK(delays(WeightPolicy::kVerticalSync, stage) == SteadyDelays{7.0 / 3, 7.0 / 3, 7.0 / 3, distance});
    CHECK(delays(WeightPolicy::kDoubleBuffer, stage) == SteadyDelays{1, 1, 1, distance});
    schedule.weights.delay = 3;
    CHECK(delays(WeightPolicy::kDelay, stage) == SteadyDelays{3, 3, 3, distance});
    CHECK(delays(WeightPolicy::kLatest, stage) == SteadyDelays{late, 0, 0, distance});
    CHECK_FALSE(delays(WeightPolicy::kFlush, stage));
  }
  CHECK_FALSE(has_closed_delays(schedule));
  schedule.weights.policy = WeightPolicy::kLatest;
  CHECK(has_closed_delays(schedule));
  // Stages 1 to 3 replay from stage 1 on: 2 (3 - s) + 1 slots before the backward. A single stage replays at its
  // backward.
  schedule.recompute = {Recompute{.first_stage = 1, .last_stage = 3, .segment = true}};
  for (const std::int32_t stage : {0, 1, 2, 3}) {
    const double replayed = stage == 0 ? 0 : (2.0 * (3 - stage) + 1) / 3;
    CHECK(steady_delays(schedule, StageId{stage})->recompute == replayed);
  }
  schedule.recompute.front().first_stage = 3;
  CHECK(steady_delays(schedule, StageId{3})->recompute == 0);
  schedule.recompute = {Recompute{.first_stage = 1, .last_stage = 3, .segment = false}};
  CHECK(steady_delays(schedule, StageId{2})->recompute == 0);
}

TEST_CASE("only straight pipelines that are trained whole have closed delays") {
  Schedule straight = generate("pipemare", {.num_devices = 3, .num_microbatches = 1, .updates = 9});
  straight.parameters["timing"] = std::string("1f1b");
  CHECK(steady_delays(straight, StageId{0})->distance == 2);  // P - 1 - s
  straight.parameters["timing"] = std::string("fused");
  CHECK(steady_delays(straight, StageId{0})->distance == 4);  // 2 (P - 1 - s)
  CHECK(steady_delays(straight, StageId{2})->distance == 0);
  const auto without = [&](auto change) {
    Schedule other = straight;
    change(other);
    return !steady_delays(other, StageId{0}).has_value();
  };
  CHECK(without([](Schedule& other) { other.parameters.erase("timing"); }));
  CHECK(without([](Schedule& other) { other.parameters["timing"] = std::string("unheard of"); }));
  CHECK(without([](Schedule& other) { other.parameters["timing"] = std::int64_t{1}; }));
  CHECK(without([](Schedule& other) { other.num_stages = 6; }));
  CHECK(without([](Schedule& other) { other.placement.push_back(other.placement.front()); }));
  CHECK(without([](Schedule& other) { other.placement.front().front().push_back(DeviceId{1}); }));
  CHECK(without([](Schedule& other) { other.slices = Slices{}; }));
  CHECK(without([](Schedule& other) { other.forward_only = true; }));
}

TEST_CASE("tau of a method does not depend on the length of the document") {
  const auto places = [](std::int64_t updates) {
    const Schedule schedule = with_methods(
        generate("pipemare",
                 {.num_devices = 4, .num_microbatches = 1, .updates = updates, .options = {{"timing", "slots"}}}),
        "t1:K=20,t2:D=0.5");
    return method_places(schedule, lowered(schedule));
  };
  const std::vector<MethodPlace> whole = places(40);
  for (const std::int64_t updates : {1, 2, 4, 8, 9, 17}) {
    const std::vector<MethodPlace> some = places(updates);
    REQUIRE(some.size() == 4);
    for (std::size_t stage = 0; stage < 4; ++stage) {
      CHECK(some[stage].forward == 7 - 2.0 * static_cast<double>(stage));  // (2 (P - i) + 1) / N, i from 1
      CHECK(some[stage].forward == whole[stage].forward);
      CHECK(some[stage].backward == 0);
    }
  }
}

TEST_CASE("a uniform delay is its own closed form") {
  const Schedule schedule = generate(
      "pipedream-2bw",
      {.num_devices = 5, .num_microbatches = 2, .updates = 4, .options = {{"timing", "slots"}, {"delay", "5"}}});
  CHECK(steady_delays(schedule, StageId{0}) == SteadyDelays{5, 5, 5, 9});
  CHECK(steady_delays(schedule, StageId{4}) == SteadyDelays{5, 5, 5, 1});
}

TEST_CASE("documents that do not say their timing have no closed form") {
  Schedule schedule = generate("pipemare", {.num_devices = 3, .num_microbatches = 2, .updates = 4});
  CHECK(has_closed_delays(schedule));
  schedule.parameters.erase("timing");
  CHECK(!has_closed_delays(schedule));
  CHECK(!steady_delays(generate("gpipe", {.num_devices = 3, .num_microbatches = 2}), StageId{0}));
}

}  // namespace plumb::testing

TEST_SUITE_END();
