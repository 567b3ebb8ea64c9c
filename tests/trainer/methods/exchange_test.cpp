#include <array>
#include <cmath>
#include <map>
#include <string>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "tests/trainer/methods/scalar_pipeline.hpp"

TEST_SUITE_BEGIN("trainer");

namespace plumb::scalar {
namespace {

constexpr double kRate = 0.02;
constexpr std::int64_t kUpdates = 9;

/// y = w x, to be 1.5 x, from w = 0.9, in one stage; the final w of the first copy.
double final_weight(const std::string& schedule, std::int32_t devices, std::map<std::string, std::string> options) {
  TrainOptions run = three_factors(generate(
      schedule, {.num_devices = devices, .num_microbatches = 2, .updates = kUpdates, .options = std::move(options)}));
  run.model.network.layers = {run.model.network.layers[0], run.model.network.layers[1], run.model.network.layers[4]};
  run.model.partition = {{0, 3}};
  run.model.initial_parameters = {{"w1.weight", {0.9}}};
  run.optimization.learning_rate.base = kRate;
  run.hooks.own_backend = nullptr;
  run.observation.keep_parameters = true;
  return train(run).parameters.at("w1.weight")[0];
}

/// Of microbatch k.
double gradient(double w, std::int64_t k) {
  const double x = 1 + 0.25 * static_cast<double>(k % 4);
  return (w - 1.5) * x * x;
}

}  // namespace

TEST_CASE("virtual workers add up what each has changed, at once or a wave late") {
  double together = 0.9;
  for (std::int64_t t = 0; t < kUpdates; ++t) {
    together -= kRate * (gradient(together, 2 * t) + gradient(together, 2 * t + 1));
  }
  CHECK(std::abs(final_weight("hetpipe", 2, {}) - together) < 1e-14);
  std::array<double, 2> w{0.9, 0.9};
  std::array<double, 2> late{0, 0};  // changes of the wave before
  for (std::int64_t t = 0; t < kUpdates; ++t) {
    std::array<double, 2> change{};
    for (std::size_t worker = 0; worker < 2; ++worker) {
      change[worker] = -kRate * gradient(w[worker], 2 * t + static_cast<std::int64_t>(worker));
      w[worker] += change[worker] + late[1 - worker];
    }
    late = change;
  }
  CHECK(std::abs(final_weight("hetpipe", 2, {{"distance", "1"}}) - w[0]) < 1e-14);
  CHECK(std::abs(w[0] - together) > 1e-5);
}

TEST_CASE("copies of a model and the reference model are pulled towards each other after every update") {
  std::array<double, 2> w{0.9, 0.9};
  double reference = 0.9;
  for (std::int64_t t = 0; t < kUpdates; ++t) {
    for (std::size_t copy = 0; copy < 2; ++copy) {
      w[copy] -= kRate * gradient(w[copy], 2 * t + static_cast<std::int64_t>(copy));
      const double pull = 0.5 * (w[copy] - reference);
      w[copy] -= pull;
      reference += pull;
    }
  }
  CHECK(std::abs(final_weight("avgpipe", 1, {}) - w[0]) < 1e-14);
}

TEST_CASE("elastic averaging wants the copies of a stage on one device") {
  const Schedule schedule =
      with_methods(generate("amdp", {.num_devices = 4, .num_microbatches = 4, .updates = 3}), "elastic");
  TrainOptions run = three_factors(schedule);
  run.model.network.layers.insert(run.model.network.layers.end() - 1,
                                  {.kind = LayerKind::kLinear, .name = "w4", .width = 1, .outputs = 1, .bias = false});
  run.model.partition = {{0, 2, 3, 4, 6}};
  CHECK_THROWS_WITH_AS(
      train(run), doctest::Contains("are on several devices; expected them on one, with the reference model"), Error);
}

}  // namespace plumb::scalar

TEST_SUITE_END();
