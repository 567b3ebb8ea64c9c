#include <doctest/doctest.h>

#include "tests/trainer/pytorch/stored_vectors.hpp"
#include "trainer/numbers/optimizer.hpp"

TEST_SUITE_BEGIN("trainer");

using namespace plumb;
using plumb::testing::distance;
using plumb::testing::drawn;
using plumb::testing::numbers_of;
using plumb::testing::stored;

TEST_CASE("every optimizer takes the steps of PyTorch's, to 1e-13") {
  constexpr std::int64_t kNumbers = 12;
  constexpr std::int64_t kSteps = 6;
  const std::vector<std::pair<std::string, OptimizerOptions>> optimizers{
      {"sgd", {.kind = OptimizerKind::kSgd, .momentum = 0, .weight_decay = 0.1}},
      {"sgd_momentum", {.kind = OptimizerKind::kSgd, .momentum = 0.9, .weight_decay = 0.1}},
      {"adam", {.kind = OptimizerKind::kAdam, .weight_decay = 0.1}},
      {"adam_betas", {.kind = OptimizerKind::kAdam, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-3, .weight_decay = 0}},
      {"adamw", {.kind = OptimizerKind::kAdamW, .weight_decay = 0.1}},
      {"nadam", {.kind = OptimizerKind::kNAdam, .weight_decay = 0.1}}};
  const SafetensorsFile file(stored("optimizers.safetensors"));
  CHECK(file.tensors().size() == optimizers.size() * kSteps);
  const std::vector<ParameterFacts> parameters{{.name = "matrix", .shape = {3, 4}, .decayed = true}};
  const std::vector<double> gradients = drawn("gradients", kSteps * kNumbers);
  for (const auto& [name, options] : optimizers) {
    CAPTURE(name);
    std::vector<double> weights = drawn("start", kNumbers);
    std::vector<double> state(2 * kNumbers);
    for (std::int64_t step = 0; step < kSteps; ++step) {
      CAPTURE(step);
      update<double>(options, {.update = step, .learning_rate = 0.05}, parameters,
                     {weights.data(), gradients.data() + step * kNumbers, state.data()});
      const double error = distance(weights, numbers_of(file.at(name + "/" + std::to_string(step + 1))));
      CHECK(error < 1e-13);
    }
  }
}

TEST_SUITE_END();
