#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "predicted_run.hpp"
#include "trainer/reference_training.hpp"
#include "trainer/train.hpp"
#include "training_cases.hpp"

TEST_SUITE_BEGIN("trainer");

namespace plumb {
namespace {

struct Case {
  std::string schedule;
  std::int32_t p = 1;
  std::int64_t m = 1;
};

/// Every synchronous schedule with every P, and for each a few M that it can do.
std::vector<Case> synchronous_cases() {
  std::vector<Case> cases;
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    if (!spec.synchronous) continue;
    for (const std::int32_t p : {1, 2, 3, 4, 8}) {
      for (const std::int64_t m : {std::int64_t{1}, std::int64_t{3}, std::int64_t{4}, std::int64_t{8}}) {
        const bool chimera = spec.name == "chimera";
        if (chimera && (p % 2 != 0 || (m > p && m % p != 0) || m < 2)) continue;
        if (spec.name == "interleaved" && m % p != 0 && m > p) continue;
        cases.push_back({std::string(spec.name), p, m});
      }
    }
  }
  return cases;
}

TrainOptions options_for(const Case& of, bool tied) {
  TrainOptions options = tiny_run(
      of.schedule,
      {.num_devices = of.p, .num_microbatches = of.m, .chunks = of.schedule == "interleaved" ? 2 : 1, .updates = 3}, 7,
      tied);
  options.steps = 3;
  return options;
}

/// Microbatches of the first update in the order in which stage 0 adds their gradients up.
std::vector<std::int64_t> accumulation_order(const Schedule& schedule) {
  std::vector<std::int64_t> order;
  for (const Action& action : expand(schedule.devices[0])) {
    const auto microbatch = static_cast<std::int64_t>(action.microbatch);
    const bool adds = action.op == Op::kB || action.op == Op::kW;
    if (adds && action.stage == StageId{0} && microbatch < schedule.per_update(StageId{0})) order.push_back(microbatch);
  }
  return order;
}

}  // namespace

TEST_CASE(
    "after 3 updates of any synchronous schedule, weights and gradients are those of training without a pipeline") {
  for (const Case& of : synchronous_cases()) {
    CAPTURE(of.schedule);
    CAPTURE(of.p);
    CAPTURE(of.m);
    const TrainOptions options = options_for(of, false);
    const bool one_copy = of.schedule != "chimera";
    const TrainResult expected =
        unpipelined_training(options, one_copy ? accumulation_order(options.schedule) : std::vector<std::int64_t>{});
    const TrainResult result = train(options);
    // Copies of a stage add up their own microbatches first, so in no order that one copy could have.
    const double tolerance = one_copy ? 0.0 : 1e-12;
    CHECK(largest_difference(result.parameters, expected.parameters) <= tolerance);
    CHECK(largest_difference(result.gradients, expected.gradients) <= tolerance);
    CHECK(result.losses.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) CHECK(std::abs(result.losses[i] - expected.losses[i]) <= tolerance);
  }
}

TEST_CASE("a head tied to the embedding of another stage trains as in one piece, to 1e-12") {
  for (const std::string schedule : {"1f1b", "zb-h1", "chimera"}) {
    CAPTURE(schedule);
    const TrainOptions options = options_for({schedule, 2, 4}, true);
    const TrainResult expected = unpipelined_training(options);
    const TrainResult result = train(options);
    CHECK(largest_difference(result.parameters, expected.parameters) <= 1e-12);
    CHECK(std::abs(result.losses[2] - expected.losses[2]) <= 1e-12);
  }
}

TEST_CASE("training changes the weights: 3 updates from the same start do not give what 2 give") {
  TrainOptions three = options_for({"1f1b", 2, 4}, false);
  TrainOptions two = tiny_run("1f1b", {.num_devices = 2, .num_microbatches = 4, .updates = 2}, 7);
  CHECK(largest_difference(train(three).parameters, train(two).parameters) > 1e-4);
}

TEST_CASE("a document of one update repeated 3 times gives the bits of one document of 3 updates") {
  TrainOptions repeated = tiny_run("1f1b", {.num_devices = 3, .num_microbatches = 4}, 7);
  repeated.steps = 3;
  const TrainOptions at_once = options_for({"1f1b", 3, 4}, false);
  CHECK(train(repeated).weights_hash == train(at_once).weights_hash);
}

TEST_CASE("the weights hash does not depend on how the network is cut") {
  CHECK(train(options_for({"1f1b", 2, 4}, false)).weights_hash ==
        train(options_for({"zb-h1", 8, 4}, false)).weights_hash);
}

}  // namespace plumb

TEST_SUITE_END();
