#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "schedules/catalogue/registry.hpp"
#include "tests/support/reference_training.hpp"
#include "tests/trainer/three_factors.hpp"
#include "trainer/data/value_data.hpp"
#include "trainer/train.hpp"

TEST_SUITE_BEGIN("trainer");

using namespace plumb;

namespace {

const ValueData kData({1, 1.25, 1.5, 1.75}, 1, {1.5, 1.875, 2.25, 2.625}, 1);

}  // namespace

TEST_CASE("a synchronous scalar pipeline has the published losses and weights") {
  // schedules-asynchronous 11.6, row "sync, N=1".
  const auto result =
      train(three_factors(kData, generate("1f1b", {.num_devices = 3, .num_microbatches = 1, .updates = 4})));
  const std::vector<double> losses{0.49600800, 0.67911431, 0.75894104, 0.62664162};
  REQUIRE(result.losses.size() == 4);
  for (std::size_t k = 0; k < 4; ++k) CHECK(result.losses[k] == doctest::Approx(losses[k]).epsilon(1e-7));
  CHECK(result.parameters.at("w1.weight")[0] == doctest::Approx(1.11820304).epsilon(1e-8));
  CHECK(result.parameters.at("w2.weight")[0] == doctest::Approx(1.04077171).epsilon(1e-8));
  CHECK(result.parameters.at("w3.weight")[0] == doctest::Approx(0.96794580).epsilon(1e-8));
}

TEST_CASE("given weights replace drawn ones, and one of another size is refused") {
  TrainOptions options = three_factors(kData, generate("gpipe", {.num_devices = 3, .num_microbatches = 4}));
  options.optimization.learning_rate.base = 0;
  CHECK(train(options).parameters.at("w3.weight")[0] == 0.7);
  options.model.initial_parameters["w2.weight"] = {1, 2};
  CHECK_THROWS_WITH_AS(train(options), "parameter 'w2.weight': 2 numbers given, expected 1", Error);
}

TEST_CASE("values and target values must make as many whole rows") {
  CHECK_THROWS_AS(ValueData({1, 2, 3}, 2, {1}, 1), Error);
  CHECK_THROWS_AS(ValueData({1, 2}, 1, {1}, 1), Error);
  const ValueData pairs({1, 2, 3, 4}, 2, {5, 6}, 1);
  CHECK(pairs.microbatch(1, {1, 1}, 0).values == std::vector<double>{3, 4});
  CHECK(pairs.microbatch(2, {1, 1}, 0).target_values == std::vector<double>{5});
}

TEST_CASE("a network that reads ids is refused on values") {
  TrainOptions options = three_factors(kData, generate("gpipe", {.num_devices = 3, .num_microbatches = 4}));
  options.model.network.layers.front() = {.kind = LayerKind::kEmbedding, .name = "e", .width = 1, .vocabulary = 5};
  CHECK_THROWS_WITH_AS(train(options),
                       "train 'gpipe': network 'three factors': layer 'e' reads what values do not have", Error);
}

TEST_SUITE_END();
