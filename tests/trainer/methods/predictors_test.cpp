#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "models/stages/lay_out_stage.hpp"
#include "tests/trainer/methods/scalar_pipeline.hpp"
#include "trainer/methods/correction.hpp"

TEST_SUITE_BEGIN("trainer");

namespace plumb::scalar {
namespace {

/// A stage of one number whose optimizer has made ten updates (reference 11.7).
struct State {
  double w = 0.5;
  std::array<double, 2> moments{0.02, 0.0004};
  double gradient = 0;
  double buffer = 0;
};

/// What a forward reads `steps` updates before its gradient is applied.
double predicted(const std::string& method, const OptimizerOptions& optimizer, std::int32_t steps) {
  State state;
  Schedule schedule = with_methods(generate("pipemare", {.num_devices = 3, .num_microbatches = 1}), method);
  schedule.weights.prediction.forward = {steps, steps, steps};
  TrainOptions options = three_factors(schedule);
  const StageLayout layout = stage_layout(options.model.network.layers, options.model.partition.range(0),
                                          options.model.shape, precision_of<double>(optimizer));
  const auto backend = make_cpu_stage(NumberType::kFloat64, {&layout, options.model.shape, optimizer});
  const auto correction = make_correction(
      {{schedule, optimizer, options.optimization.learning_rate}, schedule.weights.methods.front(), {}});
  const auto bytes = [](double* number) { return reinterpret_cast<std::byte*>(number); };
  SharedBuffers shared;
  std::array<std::byte*, 2> buffers{bytes(&state.buffer), bytes(&state.buffer)};
  const CorrectedHolder holder{.arithmetic = *backend,
                               .blocks = {bytes(&state.w), bytes(&state.gradient), bytes(state.moments.data())},
                               .weight_bytes = 8,
                               .updates_done = 10,
                               .learning_rate = 1e-3,
                               .shared = shared,
                               .forward_weights = nullptr,
                               .buffers = buffers};
  const std::byte* read = correction->weights({Op::kF, 10, 10, 10 + steps, {.steps = steps}}, holder);
  CHECK(state.w == 0.5);
  return *reinterpret_cast<const double*>(read);
}

constexpr OptimizerOptions kPredictedAdam{.kind = OptimizerKind::kAdam, .weight_decay = 0};

}  // namespace

TEST_CASE("predictions from adam's state are the published numbers") {
  CHECK(predicted("msnag", kPredictedAdam, 3) == doctest::Approx(0.499628353484).epsilon(1e-12));
  CHECK(predicted("pipeoptim", kPredictedAdam, 1) == doctest::Approx(0.499846810934).epsilon(1e-12));
  CHECK(predicted("pipeoptim", kPredictedAdam, 2) == doctest::Approx(0.499693621867).epsilon(1e-12));
  CHECK(predicted("pipeoptim", kPredictedAdam, 3) == doctest::Approx(0.499540432801).epsilon(1e-12));
  CHECK(predicted("xpipe", kPredictedAdam, 3) == doctest::Approx(0.499051316717).epsilon(1e-12));
}

TEST_CASE("msnag's coefficients for sgd with momentum 0.9 are the published ones") {
  const OptimizerOptions sgd{.kind = OptimizerKind::kSgd, .momentum = 0.9, .weight_decay = 0};
  const std::vector<std::pair<std::int32_t, double>> published{{1, 0.9}, {2, 1.71}, {3, 2.439}, {5, 3.68559}};
  for (const auto& [steps, coefficient] : published) {
    CAPTURE(steps);
    CHECK((0.5 - predicted("msnag", sgd, steps)) / (1e-3 * 0.02) == doctest::Approx(coefficient).epsilon(1e-9));
  }
}

TEST_CASE("what cannot be predicted from, or compensated, is refused with the optimizer that is expected") {
  const OptimizerOptions plain{.kind = OptimizerKind::kSgd, .momentum = 0, .weight_decay = 0};
  CHECK_THROWS_WITH_AS(predicted("pipeoptim", plain, 1),
                       "method pipeoptim: sgd without momentum keeps no direction to predict from; expected momentum, "
                       "adam or adamw",
                       Error);
  for (const std::string method : {"spike", "gap-aware", "adaptive-braking", "nesterov"}) {
    CAPTURE(method);
    CHECK_THROWS_AS(predicted(method, kPredictedAdam, 1), Error);
  }
  CHECK_THROWS_AS(predicted("adaptive-momentum", plain, 1), Error);
}

}  // namespace plumb::scalar

TEST_SUITE_END();
