#include <array>
#include <cmath>
#include <cstring>

#include <doctest/doctest.h>

#include "trainer/numbers/gradient_clip.hpp"
#include "trainer/numbers/initial_weights.hpp"
#include "trainer/numbers/learning_rate.hpp"
#include "trainer/numbers/optimizer.hpp"

TEST_SUITE_BEGIN("trainer");

using namespace plumb;

namespace {

/// A matrix of one number, which decays, and a bias, which does not.
const std::vector<ParameterFacts> kMatrixAndBias{{.name = "matrix", .shape = {1, 1}, .decayed = true},
                                                 {.name = "bias", .shape = {1}}};

/// Weights after each of `gradients` (the same for both parameters), from (1, 1) with rate 0.1.
std::array<double, 2> after(const OptimizerOptions& options, const std::vector<double>& gradients) {
  std::array<double, 2> weights{1, 1};
  std::array<double, 4> state{};
  for (std::size_t t = 0; t < gradients.size(); ++t) {
    const std::array<double, 2> gradient{gradients[t], gradients[t]};
    update<double>(options, {.update = static_cast<std::int64_t>(t), .learning_rate = 0.1}, kMatrixAndBias,
                   {weights.data(), gradient.data(), state.data()});
  }
  return weights;
}

}  // namespace

TEST_CASE("plain SGD steps against the gradient") {
  const auto w = after({.kind = OptimizerKind::kSgd, .momentum = 0, .weight_decay = 0}, {2, -1});
  CHECK(w[0] == doctest::Approx(1 - 0.2 + 0.1).epsilon(1e-15));
}

TEST_CASE("momentum SGD accumulates v = 0.9 v + g, as PyTorch does, and decays through the gradient") {
  // v: 2, then 0.9 * 2 + 1 = 2.8.
  const auto w = after({.kind = OptimizerKind::kSgd, .weight_decay = 0}, {2, 1});
  CHECK(w[0] == doctest::Approx(1 - 0.2 - 0.28).epsilon(1e-15));
  // With decay 0.5 the matrix sees g = 2 + 0.5 * 1 = 2.5; the bias does not decay.
  const auto decayed = after({.kind = OptimizerKind::kSgd, .weight_decay = 0.5}, {2});
  CHECK(decayed[0] == doctest::Approx(0.75).epsilon(1e-15));
  CHECK(decayed[1] == doctest::Approx(0.8).epsilon(1e-15));
}

TEST_CASE("Adam's first step is the rate times the gradient's sign, whatever its size") {
  for (const double gradient : {1e-3, 4.0, -700.0}) {
    CAPTURE(gradient);
    const auto w = after({.kind = OptimizerKind::kAdam, .weight_decay = 0}, {gradient});
    CHECK(w[0] == doctest::Approx(1 - std::copysign(0.1, gradient)).epsilon(1e-5));
  }
}

TEST_CASE("Adam's second step follows the corrected moments") {
  // m = 0.1 * 2 * 0.9 + 0.1 * 1 = 0.28, s = 0.001 * 4 * 0.999 + 0.001 * 1 = 0.004996.
  const double step = 0.1 * (0.28 / 0.19) / (std::sqrt(0.004996 / (1 - 0.999 * 0.999)) + 1e-8);
  const auto first = after({.kind = OptimizerKind::kAdam, .weight_decay = 0}, {2});
  const auto second = after({.kind = OptimizerKind::kAdam, .weight_decay = 0}, {2, 1});
  CHECK(first[0] - second[0] == doctest::Approx(step).epsilon(1e-12));
}

TEST_CASE("AdamW shrinks matrices by rate times decay and leaves the gradient alone; Adam does the opposite") {
  const auto adamw = after({.kind = OptimizerKind::kAdamW, .weight_decay = 0.5}, {3});
  CHECK(adamw[0] == doctest::Approx(0.95 - 0.1).epsilon(1e-8));
  CHECK(adamw[1] == doctest::Approx(0.9).epsilon(1e-8));
  const auto adam = after({.kind = OptimizerKind::kAdam, .weight_decay = 0.5}, {-0.5});  // -0.5 + 0.5 * 1 = 0
  CHECK(adam[0] == 1.0);
  CHECK(adam[1] == doctest::Approx(1.1).epsilon(1e-6));
}

TEST_CASE("the gradient scale turns a sum over microbatches into their mean") {
  const std::array<double, 2> sum{8, 8};
  std::array<double, 2> weights{1, 1};
  std::array<double, 2> state{};
  update<double>({.kind = OptimizerKind::kSgd, .weight_decay = 0},
                 {.update = 0, .learning_rate = 0.1, .gradient_scale = 0.25}, kMatrixAndBias,
                 {weights.data(), sum.data(), state.data()});
  CHECK(weights[0] == doctest::Approx(0.8).epsilon(1e-15));
}

TEST_CASE("state counts are those that the memory model charges") {
  CHECK(optimizer_state_count({.kind = OptimizerKind::kSgd, .momentum = 0}) == 0);
  CHECK(optimizer_state_count({.kind = OptimizerKind::kSgd, .momentum = 0.9}) == 1);
  CHECK(optimizer_state_count({.kind = OptimizerKind::kAdam}) == 2);
  CHECK(precision_of<float>({.kind = OptimizerKind::kAdamW}) == Precision{4, 4, 4, 8});
  CHECK(precision_of<double>({.kind = OptimizerKind::kSgd}) == Precision{8, 8, 8, 8});
}

TEST_CASE("updating in one block or in two gives the same bits") {
  const std::vector<ParameterFacts> both{{.name = "a", .shape = {5, 7}, .decayed = true}, {.name = "b", .shape = {19}}};
  std::vector<float> weights(54);
  std::vector<float> gradients(54);
  for (std::size_t i = 0; i < 54; ++i) {
    weights[i] = 0.1F * static_cast<float>(i);
    gradients[i] = std::sin(static_cast<float>(i));
  }
  std::vector<float> apart = weights;
  std::vector<float> state(108);
  std::vector<float> state_a(70);
  std::vector<float> state_b(38);
  for (std::int64_t t = 0; t < 3; ++t) {
    const UpdateStep step{.update = t, .learning_rate = 0.01, .gradient_scale = 0.3};
    const std::span<const ParameterFacts> all = both;
    update<float>({}, step, all, {weights.data(), gradients.data(), state.data()});
    update<float>({}, step, all.first(1), {apart.data(), gradients.data(), state_a.data()});
    update<float>({}, step, all.last(1), {apart.data() + 35, gradients.data() + 35, state_b.data()});
  }
  CHECK(std::memcmp(weights.data(), apart.data(), weights.size() * sizeof(float)) == 0);
}

TEST_CASE("clipping scales a norm of 5 down to the maximum and leaves smaller ones") {
  const std::array<double, 2> gradients{3, 4};
  const std::vector<double> squared = squared_norms<double>(kMatrixAndBias, gradients.data());
  CHECK(squared == std::vector<double>{9, 16});
  CHECK(clip_factor(squared, 1.0, 1.0) == doctest::Approx(0.2).epsilon(1e-6));
  CHECK(clip_factor(squared, 0.1, 1.0) == 1.0);
  CHECK(clip_factor(squared, 0.5, 1.0) == doctest::Approx(0.4).epsilon(1e-6));
}

TEST_CASE("the further copy of a tied weight does not count twice in the global norm") {
  const std::vector<ParameterFacts> head{{.name = "embedding.weight", .shape = {2}, .tied = true},
                                         {.name = "bias", .shape = {1}}};
  const std::array<float, 3> gradients{100, 100, 2};
  CHECK(squared_norms<float>(head, gradients.data()) == std::vector<double>{0, 4});
}

TEST_CASE("learning rates warm up linearly and then follow their curve") {
  const LearningRateOptions cosine{
      .kind = LearningRateKind::kCosine, .base = 2, .warmup = 4, .total = 14, .floor = 0.25};
  CHECK(learning_rate(cosine, 0) == 0.5);
  CHECK(learning_rate(cosine, 3) == 2.0);
  CHECK(learning_rate(cosine, 4) == 2.0);
  CHECK(learning_rate(cosine, 9) == doctest::Approx(2 * (0.25 + 0.75 * 0.5)));
  CHECK(learning_rate(cosine, 14) == 0.5);
  CHECK(learning_rate(cosine, 1000) == 0.5);
  const LearningRateOptions inverse{.kind = LearningRateKind::kInverseSqrt, .base = 3, .warmup = 4};
  CHECK(learning_rate(inverse, 3) == 3.0);
  CHECK(learning_rate(inverse, 15) == 1.5);
  const LearningRateOptions step{.kind = LearningRateKind::kStep, .base = 1, .warmup = 1, .every = 10, .factor = 0.5};
  CHECK(learning_rate(step, 10) == 1.0);
  CHECK(learning_rate(step, 11) == 0.5);
  CHECK(learning_rate(step, 21) == 0.25);
  CHECK(learning_rate({.base = 0.7}, 123) == 0.7);
}

TEST_CASE("initial weights follow from seed and name, not from their neighbours") {
  const ParameterFacts matrix{.name = "x.weight", .shape = {100, 100}, .initial_deviation = 0.5};
  const ParameterFacts scale{.name = "n.weight", .shape = {3}, .initial_mean = 1};
  std::vector<double> together(10003);
  std::vector<double> alone(10000);
  fill_parameters<double>(std::vector{scale, matrix}, 1, together.data());
  fill_parameters<double>(std::vector{matrix}, 1, alone.data());
  CHECK(std::equal(alone.begin(), alone.end(), together.begin() + 3));
  CHECK(together[0] == 1.0);
  double sum = 0;
  double squares = 0;
  for (double w : alone) {
    sum += w;
    squares += w * w;
  }
  CHECK(std::abs(sum / 10000) < 4 * 0.5 / 100);  // four standard errors
  CHECK(std::sqrt(squares / 10000) == doctest::Approx(0.5).epsilon(0.03));
  std::vector<double> other(10000);
  fill_parameters<double>(std::vector{matrix}, 2, other.data());
  CHECK(other[0] != alone[0]);
}

TEST_SUITE_END();
