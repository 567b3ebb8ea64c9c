#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/error_message.hpp"
#include "tests/support/reference_training.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/trainer/predicted_run.hpp"
#include "tests/trainer/training_cases.hpp"
#include "trainer/train.hpp"

TEST_SUITE_BEGIN("trainer");

namespace plumb {
namespace {

/// Schedules that validate after their updates, on p devices.
const std::vector<std::string> kValidated{"zb-h1", "zb-h2", "zb-1p", "zb-2p", "zb-v"};

TrainOptions validated_run(const std::string& name, std::int32_t p, std::int64_t updates = 4) {
  ScheduleParams params{.num_devices = p, .num_microbatches = 2 * p, .updates = updates};
  params.options = {{"validation", "post"}};
  TrainOptions options = tiny_run(name, params, 7);
  options.optimization.clip_norm = 0.05;
  options.optimization.clip_scope = ClipScope::kGlobal;
  return options;
}

/// Makes the gradients of the microbatches of one update infinite, in one stage (-1: in whatever there is).
void spoil(TrainOptions& options, std::int64_t update, std::int32_t stage) {
  const std::int64_t microbatch = options.schedule.per_update(StageId{0}) * update + 1;
  options.hooks.on_gradients = [=](StageId at, std::int64_t k, std::span<std::byte> gradients) {
    const double infinite = std::numeric_limits<double>::infinity();
    if (k != microbatch || (stage >= 0 && at != StageId{stage})) return;
    std::memcpy(gradients.data() + gradients.size() - sizeof(infinite), &infinite, sizeof(infinite));
  };
}

}  // namespace

TEST_CASE("an update that was made with a part of the norm is taken back, and the weights are those of a global clip") {
  for (const std::string& name : kValidated) {
    for (const OptimizerKind kind : {OptimizerKind::kSgd, OptimizerKind::kAdam, OptimizerKind::kAdamW}) {
      CAPTURE(name);
      CAPTURE(static_cast<int>(kind));
      TrainOptions options = validated_run(name, 4);
      options.optimization.optimizer.kind = kind;
      const TrainResult expected = unpipelined_training([&] {
        TrainOptions whole = options;
        whole.optimization.steps = 4;
        return whole;
      }());
      const TrainResult result = train(options);
      CHECK(result.updates_rolled_back > 0);
      CHECK(result.updates_skipped == 0);
      CHECK(largest_difference(result.parameters, expected.parameters) == 0);
      CHECK(result.losses == expected.losses);
      options.execution.executor = "threads";
      CHECK(train(options).weights_hash == result.weights_hash);
      TrainOptions unclipped = options;
      unclipped.optimization.clip_norm = 0;
      CHECK(train(unclipped).weights_hash != result.weights_hash);
    }
  }
}

TEST_CASE("nothing is taken back when the norm is below its limit") {
  for (const std::string& name : kValidated) {
    CAPTURE(name);
    TrainOptions options = validated_run(name, 3);
    options.optimization.clip_norm = 1e6;
    const TrainResult result = train(options);
    CHECK(result.updates_rolled_back == 0);
    options.optimization.clip_norm = 0;
    CHECK(train(options).weights_hash == result.weights_hash);
  }
}

TEST_CASE("an infinite gradient in one microbatch of one stage leaves all weights as they were, and training goes on") {
  for (const std::string name : {"zb-h1", "zb-h2", "zb-v"}) {
    for (const double clip : {0.0, 0.05, 1e6}) {
      for (const std::int32_t stage : {0, 2}) {
        CAPTURE(name);
        CAPTURE(clip);
        CAPTURE(stage);
        TrainOptions options = validated_run(name, 3);
        options.optimization.clip_norm = clip;
        TrainOptions whole = options;
        whole.optimization.steps = 4;
        spoil(options, 1, stage);
        spoil(whole, 1, -1);
        const TrainResult result = train(options);
        const TrainResult expected = unpipelined_training(whole);
        CHECK(result.updates_skipped == 1);
        CHECK(result.losses == expected.losses);
        CHECK(largest_difference(result.parameters, expected.parameters) == 0);
        options.execution.executor = "threads";
        CHECK(train(options).weights_hash == result.weights_hash);
      }
    }
  }
}

TEST_CASE("a skipped last update ends with the weights of the update before") {
  TrainOptions options = validated_run("zb-h2", 3, 2);
  spoil(options, 1, 1);
  const TrainResult result = train(options);
  CHECK(result.updates_skipped == 1);
  CHECK(result.weights_hash == train(validated_run("zb-h2", 3, 1)).weights_hash);
}

TEST_CASE("what an update may be taken back to is counted: predicted and measured peaks are equal, class by class") {
  for (const std::string& name : kValidated) {
    for (const double clip : {0.0, 0.05}) {
      CAPTURE(name);
      CAPTURE(clip);
      TrainOptions options = validated_run(name, 4);
      options.optimization.clip_norm = clip;
      const Timeline expected = predicted(options);
      check_same_memory(train(options).timeline.value(), expected);
      TrainOptions plain = options;
      plain.schedule = generate(name, {.num_devices = 4, .num_microbatches = 8, .updates = 4});
      const auto versions = static_cast<std::size_t>(MemoryClass::kWeightVersions);
      CHECK(expected.devices[0].peak_memory_by_class[versions] > 0);
      CHECK(predicted(plain).devices[0].peak_memory_by_class[versions] == 0);
    }
  }
}

TEST_CASE("clipping by the norm of all stages gives the weights of training in one piece, for every schedule") {
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    if (!spec.synchronous || divides_vocabulary(spec)) continue;
    if (spec.placement == "copies") continue;  // several jobs, each with weights of its own
    CAPTURE(spec.name);
    auto options = tiny_run(spec, {.num_devices = 4, .num_microbatches = 4, .updates = 2}, true);
    REQUIRE(options);
    if (options->schedule.forward_only || spec.name == "mobius") continue;
    options->optimization.clip_norm = 0.05;
    options->optimization.clip_scope = ClipScope::kGlobal;
    TrainOptions whole = *options;
    whole.optimization.steps = 2;
    const TrainResult result = train(*options);
    CHECK(result.updates_rolled_back == 0);
    CHECK(largest_difference(result.parameters, unpipelined_training(whole).parameters) <= 1e-11);
    options->execution.lowering.global_norm = true;
    check_same_memory(result.timeline.value(), predicted(*options));
  }
}

TEST_CASE("a run goes on from a checkpoint after a validated update with the same bits") {
  for (const std::int64_t every : {1, 2, 3}) {
    CAPTURE(every);
    const testing::ScratchDirectory scratch;
    TrainOptions options = validated_run("zb-h2", 3);
    const std::uint64_t straight = train(options).weights_hash;
    options.observation.checkpoint = {.directory = scratch.path(), .every = every, .resume = true};
    CHECK(train(options).weights_hash == straight);
    // The newest checkpoint is that of the end; without it the run begins at the one before.
    std::filesystem::remove_all(scratch.path() / "update-000000004");
    CHECK(train(options).weights_hash == straight);
  }
}

TEST_CASE("what cannot be validated is said in one line") {
  TrainOptions options = validated_run("zb-h1", 2);
  options.schedule.extra_edges.clear();
  CHECK(
      testing::error_message([&] { train(options); }) ==
      "post-validation: 0V0 does not know the norm of stage 1; expected extra_edges that bring it from the updates of "
      "all stages");
  options = tiny_run("pipedream", {.num_devices = 2, .num_microbatches = 2, .updates = 4});
  options.optimization.clip_norm = 1;
  options.optimization.clip_scope = ClipScope::kGlobal;
  CHECK(testing::error_message([&] { train(options); }) ==
        "schedule 'pipedream': a global norm of the gradients makes every update wait for all stages; expected a "
        "synchronous schedule");
}

}  // namespace plumb

TEST_SUITE_END();
