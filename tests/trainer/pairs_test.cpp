#include <cstdint>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "predicted_run.hpp"
#include "tests/support/random_pairs.hpp"
#include "tests/support/reference_training.hpp"
#include "trainer/train.hpp"
#include "training_cases.hpp"

TEST_SUITE_BEGIN("trainer");

namespace plumb {

TEST_CASE("with pairs of any two actions, training gives every bit of training without a pipeline, in counted memory") {
  std::set<std::string> kinds;
  for (const std::string name : {"1f1b", "interleaved", "zb-h1", "zb-h2", "varuna"}) {
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      CAPTURE(name);
      CAPTURE(seed);
      const ScheduleParams params{.num_devices = 3, .num_microbatches = 6, .updates = 2};
      const Schedule schedule = testing::with_random_pairs(generate(name, params), seed);
      kinds.merge(testing::kinds_of_pairs(schedule));
      TrainOptions options = tiny_run(schedule, blocks_for(schedule.num_stages), false);
      options.optimization.steps = 2;
      const TrainResult whole = unpipelined_training(options);
      for (const std::string executor : {"serial", "threads"}) {
        CAPTURE(executor);
        options.execution.executor = executor;
        const TrainResult result = train(options);
        CHECK(largest_difference(result.parameters, whole.parameters) == 0.0);
        CHECK(largest_difference(result.gradients, whole.gradients) == 0.0);
        CHECK(result.losses == whole.losses);
        check_same_memory(result.timeline.value(), predicted(options));
      }
    }
  }
  for (const std::string kind : {"FF", "FB", "FI", "BF", "BB", "IW", "WF", "WI", "WW"}) {
    CAPTURE(kind);
    CHECK(kinds.contains(kind));
  }
}

TEST_CASE("stp trains to the weights of training without a pipeline, in counted memory") {
  TrainOptions options = tiny_run("stp", {.num_devices = 2, .num_microbatches = 6, .updates = 2}, 3);
  options.optimization.steps = 2;
  CHECK(testing::kinds_of_pairs(options.schedule) == std::set<std::string>{"FB", "FF", "FI", "FW"});
  const TrainResult whole = unpipelined_training(options);
  const TrainResult result = train(options);
  CHECK(largest_difference(result.parameters, whole.parameters) <= 1e-12);  // W stands in another order
  check_same_memory(result.timeline.value(), predicted(options));
}

}  // namespace plumb

TEST_SUITE_END();
