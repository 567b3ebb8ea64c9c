#include <array>
#include <cmath>
#include <cstdint>
#include <string>

#include <doctest/doctest.h>

#include "schedules/catalogue/registry.hpp"
#include "tests/support/error_message.hpp"
#include "tests/trainer/methods/scalar_pipeline.hpp"
#include "tests/trainer/training_cases.hpp"

TEST_SUITE_BEGIN("trainer");

namespace plumb::scalar {
namespace {

constexpr double kAccoRate = 0.02;
constexpr double kBeta1 = 0.9;
constexpr double kBeta2 = 0.999;
constexpr std::int64_t kHalfStep = 4;  ///< microbatches of half a step

/// y = w x, to be 1.5 x, from w = 0.9, on two workers.
TrainOptions one_factor(const std::string& rule, std::int64_t halves, OptimizerKind optimizer) {
  TrainOptions run = three_factors(generate(
      "acco", {.num_devices = 2, .num_microbatches = kHalfStep, .updates = halves, .options = {{"rule", rule}}}));
  run.model.network.layers = {run.model.network.layers[0], run.model.network.layers[1], run.model.network.layers[4]};
  run.model.partition = {{0, 3}};
  run.model.initial_parameters = {{"w1.weight", {0.9}}};
  run.optimization.optimizer = {.kind = optimizer, .momentum = 0, .weight_decay = 0};
  run.optimization.learning_rate.base = kAccoRate;
  run.hooks.own_backend = nullptr;
  return run;
}

double trained_weight(const TrainOptions& run) { return train(run).parameters.at("w1.weight")[0]; }

/// The sum of the gradients of half number `half` with weight w.
double sum_of_half(double w, std::int64_t half) {
  double sum = 0;
  for (std::int64_t k = half * kHalfStep; k < (half + 1) * kHalfStep; ++k) {
    const double x = 1 + 0.25 * static_cast<double>(k % 4);
    sum += (w - 1.5) * x * x;
  }
  return sum;
}

/// A weight with Adam's moments.
struct Adam {
  double w = 0.9, m = 0, s = 0;
  std::int64_t steps = 0;

  Adam after(double gradient) const {
    Adam next{w, kBeta1 * m + (1 - kBeta1) * gradient, kBeta2 * s + (1 - kBeta2) * gradient * gradient, steps + 1};
    const double mean = next.m / (1 - std::pow(kBeta1, static_cast<double>(next.steps)));
    const double square = next.s / (1 - std::pow(kBeta2, static_cast<double>(next.steps)));
    next.w -= kAccoRate * mean / (std::sqrt(square) + 1e-8);
    return next;
  }
};

struct Sgd {
  double w = 0.9;

  Sgd after(double gradient) const { return {w - kAccoRate * gradient}; }
};

/// The weight after `steps` steps of two halves, by the formulas of the paper.
template <class Optimizer>
double by_hand(std::int64_t steps) {
  Optimizer now;
  double ahead = now.w;  // that first halves read
  for (std::int64_t step = 0; step < steps; ++step) {
    const double first = sum_of_half(ahead, 2 * step);
    const double second = sum_of_half(now.w, 2 * step + 1);
    ahead = now.after(first / kHalfStep).w;
    now = now.after((first + second) / (2 * kHalfStep));
  }
  return now.w;
}

}  // namespace

TEST_CASE("acco's second halves read the true weights, its first halves the tentative ones, which are taken back") {
  for (const std::int64_t steps : {1, 2, 5}) {
    CAPTURE(steps);
    CHECK(std::abs(trained_weight(one_factor("acco", 2 * steps, OptimizerKind::kSgd)) - by_hand<Sgd>(steps)) < 1e-14);
    CHECK(std::abs(trained_weight(one_factor("acco", 2 * steps, OptimizerKind::kAdam)) - by_hand<Adam>(steps)) < 1e-14);
  }
}

TEST_CASE("by the rule dpu every half is a step whose gradients are one update late") {
  double before = 0.9;
  double w = 0.9;
  for (std::int64_t half = 0; half < 7; ++half) {
    const double after = w - kAccoRate * sum_of_half(before, half) / kHalfStep;
    before = w;
    w = after;
  }
  CHECK(std::abs(trained_weight(one_factor("dpu", 7, OptimizerKind::kSgd)) - w) < 1e-14);
}

TEST_CASE("acco is trained over whole steps, and only where gradients of the next half begin before an update") {
  CHECK(testing::error_message([] { train(one_factor("acco", 3, OptimizerKind::kSgd)); }) ==
        "method acco: 3 updates; expected an even number, of which every second one is tentative");
  TrainOptions run =
      tiny_run(with_methods(generate("pipedream", {.num_devices = 2, .num_microbatches = 2}), "acco"), 2, false);
  CHECK(testing::error_message([&] { train(run); }) ==
        "train 'pipedream': method acco: expected backwards of the next update between REDUCE_GRAD and U of every one");
}

TEST_CASE("cyclic-dp trains with several microbatches on each worker: those of a half wait in a block of their own") {
  const TrainResult result = train(tiny_run("cyclic-dp", {.num_devices = 2, .num_microbatches = 4, .updates = 10}, 3));
  CHECK(result.losses.back() < result.losses.front());
}

}  // namespace plumb::scalar

TEST_SUITE_END();
