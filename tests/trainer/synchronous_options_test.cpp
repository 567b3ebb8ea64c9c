#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/reference_training.hpp"
#include "tests/trainer/predicted_run.hpp"
#include "tests/trainer/training_cases.hpp"
#include "trainer/train.hpp"

TEST_SUITE_BEGIN("trainer");

namespace plumb {
namespace {

struct Option {
  std::string name;
  std::int32_t p = 0;
  std::int64_t m = 0;
  std::map<std::string, std::string> options;
  std::int32_t chunks = 0;
};

const std::vector<Option>& options() {
  static const std::vector<Option> all = {
      {"1f1b", 3, 5, {{"recompute", "early"}}},
      {"1f1b", 3, 5, {{"recompute", "except-last"}, {"limit", "2"}}},
      {"gpipe", 3, 5, {{"recompute", "early-except-last"}}},
      {"dapple", 3, 5, {{"policy", "b"}, {"recompute", "always"}}},
      {"kfkb", 3, 7, {{"k", "3"}}},
      {"2bp", 3, 7, {{"base", "gpipe"}, {"concat", "3"}}},
      {"2bp", 3, 7, {{"weights", "end"}, {"concat", "128"}}},
      {"breadth-first", 2, 5, {{"passes", "2"}, {"order", "reverse"}}},
      {"interleaved", 2, 4, {{"ahead", "1"}}},
      {"hanayo", 2, 5, {}, 4},
      {"chimera", 4, 7, {{"pipelines", "2"}}},
      {"chimera", 4, 1, {{"sync", "end"}}},
      {"chimera", 4, 11, {{"scaling", "doubling"}, {"recompute", "always"}}},
      {"chimera", 4, 6, {{"scaling", "halving"}, {"sync", "eager-opt"}}},
      {"terapipe", 3, 2, {{"slices", "2"}, {"recompute", "always"}}},
      {"seq1f1b", 3, 4, {{"slices", "3"}, {"recompute", "except-last"}}},
      {"seq1f1b", 2, 4, {{"backward", "split"}, {"recompute", "always"}}},
      {"seq1f1b", 2, 4, {{"recompute", "always"}}, 2},
  };
  return all;
}

}  // namespace

TEST_CASE("every option of the synchronous schedules trains as one piece does, to 1e-11") {
  for (const Option& of : options()) {
    CAPTURE(of.name);
    std::string said;
    for (const auto& [key, value] : of.options) said += key + "=" + value + " ";
    CAPTURE(said);
    TrainOptions run = tiny_run(
        of.name,
        {.num_devices = of.p, .num_microbatches = of.m, .chunks = of.chunks, .updates = 2, .options = of.options}, 7);
    run.optimization.steps = 2;
    const TrainResult expected = unpipelined_training(run);
    const TrainResult result = train(run);
    CHECK(largest_difference(result.parameters, expected.parameters) <= 1e-11);
    REQUIRE(result.losses.size() == 2);
    for (std::size_t i = 0; i < 2; ++i) CHECK(std::abs(result.losses[i] - expected.losses[i]) <= 1e-11);
  }
}

}  // namespace plumb

TEST_SUITE_END();
