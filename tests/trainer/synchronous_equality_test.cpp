#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/reference_training.hpp"
#include "tests/trainer/predicted_run.hpp"
#include "tests/trainer/training_cases.hpp"
#include "trainer/train.hpp"

TEST_SUITE_BEGIN("trainer");

namespace plumb {
namespace {

/// Every synchronous schedule that trains: p devices, m microbatches, the smallest number of chunks that it accepts.
template <class Check>
void for_each_synchronous(const Check& check) {
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    for (const std::int32_t p : {1, 2, 3, 4}) {
      for (const std::int64_t m : {std::int64_t{1}, std::int64_t{3}, std::int64_t{8}}) {
        for (const std::int32_t chunks : {1, 2, 4}) {
          const auto schedule =
              testing::generated(spec, {.num_devices = p, .num_microbatches = m, .chunks = chunks, .updates = 3});
          if (!schedule || !spec.synchronous || schedule->forward_only || schedule->vocabulary) continue;
          if (spec.placement == "copies") continue;  // several jobs, each with weights of its own
          CAPTURE(spec.name);
          CAPTURE(p);
          CAPTURE(m);
          check(tiny_run(*schedule, 7, false));
          break;
        }
      }
    }
  }
}

/// Microbatches of the first update in the order in which `stage` adds their gradients up, on all its devices.
std::vector<std::int64_t> accumulation_order(const Schedule& schedule, StageId stage) {
  std::vector<std::int64_t> order;
  for (const DeviceList& list : schedule.devices) {
    for (const Action& action : expand(list)) {
      const bool adds = action.op == Op::kB || action.op == Op::kW;
      if (!adds || action.stage != stage) continue;
      for (std::int64_t k = 0; k <= action.merged; ++k) {
        const std::int64_t microbatch = static_cast<std::int64_t>(action.microbatch) + k;
        if (microbatch < schedule.per_update(stage)) order.push_back(microbatch);
      }
    }
  }
  return order;
}

/// The order in which all stages add up whole microbatches; nothing where they differ, or copies of a stage or slices
/// of microbatches add up sums of their own.
std::optional<std::vector<std::int64_t>> common_order(const Schedule& schedule) {
  if (schedule.slices || schedule.placement.size() > 1) return std::nullopt;
  const std::vector<std::int64_t> first = accumulation_order(schedule, StageId{0});
  for (std::int32_t stage = 0; stage < schedule.num_stages; ++stage) {
    if (schedule.placement[0][static_cast<std::size_t>(stage)].size() > 1) return std::nullopt;
    if (accumulation_order(schedule, StageId{stage}) != first) return std::nullopt;
  }
  return first;
}

/// Trains in one piece, once for every network and order.
const TrainResult& unpipelined(const TrainOptions& options, const std::vector<std::int64_t>& order) {
  using Key = std::tuple<std::int64_t, std::vector<std::int64_t>, std::vector<std::int64_t>>;
  static std::map<Key, TrainResult> known;
  const Schedule& schedule = options.schedule;
  const Key key{schedule.per_update(StageId{0}), schedule.microbatch_sizes, order};
  const auto found = known.find(key);
  return found != known.end() ? found->second : known.emplace(key, unpipelined_training(options, order)).first->second;
}

TrainOptions options_for(const std::string& name, std::int32_t p, bool tied) {
  TrainOptions options = tiny_run(name, {.num_devices = p, .num_microbatches = 4, .updates = 3}, 7, tied);
  options.optimization.steps = 3;
  return options;
}

}  // namespace

TEST_CASE("jobs over the same stages train as they do on one device, to the bit") {
  for (const std::int64_t m : {2, 4}) {
    CAPTURE(m);
    const auto trained = [&](std::int32_t p) {
      const auto options = tiny_run("mlora", {.num_devices = p, .num_microbatches = m, .updates = 3}, 7, false);
      TrainOptions run = options;
      run.optimization.steps = 3;
      return train(run);
    };
    const TrainResult one = trained(1);
    const TrainResult three = trained(3);
    CHECK(three.losses == one.losses);
    CHECK(largest_difference(three.parameters, one.parameters) == 0);
  }
}

TEST_CASE("workers to which weights travel train as if they had held them all along, to the bit") {
  for (const std::string name : {"weipipe", "tawpipe"}) {
    for (const std::int64_t m : {3, 6}) {
      CAPTURE(name);
      CAPTURE(m);
      TrainOptions options = tiny_run(name, {.num_devices = 3, .num_microbatches = m, .updates = 3}, 7, false);
      options.optimization.steps = 3;
      const TrainResult travelled = train(options);
      Schedule& schedule = options.schedule;
      schedule.extra_edges.clear();
      schedule.extras.clear();
      for (DeviceList& list : schedule.devices) {
        list = {.actions = expand(list), .repeats = {}};
        std::erase_if(list.actions, [](const Action& action) { return action.op == Op::kX; });
      }
      const TrainResult held = train(options);
      CHECK(travelled.losses == held.losses);
      CHECK(largest_difference(travelled.parameters, held.parameters) == 0);
      // One device adds the gradients of all microbatches up while it computes them, workers when they are done.
      const TrainResult& alone = unpipelined(options, {});
      CHECK(largest_difference(travelled.parameters, alone.parameters) <= 1e-12);
    }
  }
}

TEST_CASE(
    "after 3 updates of any synchronous schedule, weights and gradients are those of training without a pipeline") {
  for_each_synchronous([](TrainOptions options) {
    options.optimization.steps = 3;
    const auto order = common_order(options.schedule);
    const TrainResult& expected = unpipelined(options, order.value_or(std::vector<std::int64_t>{}));
    const TrainResult result = train(options);
    // Otherwise some stage adds gradients up in an order that the network in one piece does not have.
    const double tolerance = order ? 0.0 : options.schedule.slices ? 1e-11 : 1e-12;
    CHECK(largest_difference(result.parameters, expected.parameters) <= tolerance);
    CHECK(largest_difference(result.gradients, expected.gradients) <= tolerance);
    CHECK(result.losses.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) CHECK(std::abs(result.losses[i] - expected.losses[i]) <= tolerance);
  });
}

TEST_CASE("a head tied to the embedding of another stage trains as in one piece, to 1e-12") {
  for (const std::string schedule : {"1f1b", "zb-h1", "chimera"}) {
    CAPTURE(schedule);
    const TrainOptions options = options_for(schedule, 2, true);
    const TrainResult expected = unpipelined_training(options);
    const TrainResult result = train(options);
    CHECK(largest_difference(result.parameters, expected.parameters) <= 1e-12);
    CHECK(std::abs(result.losses[2] - expected.losses[2]) <= 1e-12);
  }
}

TEST_CASE("training changes the weights: 3 updates from the same start do not give what 2 give") {
  TrainOptions three = options_for("1f1b", 2, false);
  TrainOptions two = tiny_run("1f1b", {.num_devices = 2, .num_microbatches = 4, .updates = 2}, 7);
  CHECK(largest_difference(train(three).parameters, train(two).parameters) > 1e-4);
}

TEST_CASE("a document of one update repeated 3 times gives the bits of one document of 3 updates") {
  TrainOptions repeated = tiny_run("1f1b", {.num_devices = 3, .num_microbatches = 4}, 7);
  repeated.optimization.steps = 3;
  const TrainOptions at_once = options_for("1f1b", 3, false);
  CHECK(train(repeated).weights_hash == train(at_once).weights_hash);
}

TEST_CASE("the weights hash does not depend on how the network is cut") {
  CHECK(train(options_for("1f1b", 2, false)).weights_hash == train(options_for("zb-h1", 8, false)).weights_hash);
}

}  // namespace plumb

TEST_SUITE_END();
