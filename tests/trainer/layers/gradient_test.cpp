#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "tests/trainer/tiny_networks.hpp"
#include "tests/trainer/tiny_pipeline.hpp"
#include "trainer/ground/random.hpp"

TEST_SUITE_BEGIN("trainer");

using namespace plumb;

namespace {

constexpr MicrobatchShape kShape{.samples = 2, .sequence = 5};
constexpr std::int64_t kWidth = 8;
constexpr std::int64_t kVocabulary = 11;

std::vector<double> random_values(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> values(count);
  for (double& value : values) value = random.normal();
  return values;
}

std::vector<std::int32_t> random_ids(std::uint64_t seed) {
  Random random(seed);
  std::vector<std::int32_t> ids(static_cast<std::size_t>(kShape.tokens()));
  for (std::int32_t& id : ids) id = static_cast<std::int32_t>(random.below(kVocabulary));
  return ids;
}

/// A layer alone, between two linear ones that only give it its place in the network.
struct Probe {
  std::vector<LayerSpec> chain;
  TinyStage<double> stage;
  std::vector<double> input;
  std::vector<double> output_grad;  ///< the objective is its product with the output, plus the loss
  std::vector<std::int32_t> tokens = random_ids(3);
  std::vector<std::int32_t> targets = random_ids(4);

  static std::vector<LayerSpec> around(const LayerSpec& layer) {
    std::vector<LayerSpec> chain;
    if (layer.kind != LayerKind::kEmbedding) {
      chain.push_back({.kind = LayerKind::kLinear, .name = "before", .width = 3, .outputs = layer.width});
    }
    chain.push_back(layer);
    if (layer.kind != LayerKind::kHead) {
      chain.push_back({.kind = LayerKind::kLinear, .name = "after", .width = kWidth, .outputs = 3});
    }
    return chain;
  }

  explicit Probe(const LayerSpec& layer)
      : chain(around(layer)),
        stage(chain, layer.kind == LayerKind::kEmbedding ? LayerRange{0, 1} : LayerRange{1, 2}, kShape),
        input(random_values(static_cast<std::size_t>(stage.layout.memory.input_bytes) / 8, 1)),
        output_grad(random_values(static_cast<std::size_t>(stage.layout.memory.output_bytes) / 8, 2)) {
    // Biases and norm scales start at one value; move them so that no gradient vanishes by symmetry.
    const std::vector<double> shifts = random_values(stage.weights.size(), 5);
    for (std::size_t i = 0; i < shifts.size(); ++i) stage.weights[i] += 0.3 * shifts[i];
  }

  double forward(StageStash& stash) {
    double loss = 0;
    const StageBlocks blocks = stash.begin_forward(stage.received(input));
    stage.module.forward(stage.read(), blocks, {tokens.data(), targets.data()}, &loss);
    const std::vector<double> output = values_of<double>(stash.end_forward());
    for (std::size_t i = 0; i < output.size(); ++i) loss += output[i] * output_grad[i];
    return loss;
  }

  double objective() {
    StageStash stash(stage.layout, stage.arena);
    return forward(stash);
  }

  /// Fills the stage's gradients and returns the input's.
  std::vector<double> backward() {
    StageStash stash(stage.layout, stage.arena);
    forward(stash);
    StageBlocks blocks = stash.begin_input_grad(stage.received(output_grad));
    stage.module.input_grad(stage.read(), stage.gradients.data(), blocks);
    const std::vector<double> input_grad = values_of<double>(stash.end_input_grad());
    blocks = stash.begin_weight_grad();
    stage.module.weight_grad(stage.gradients.data(), blocks);
    stash.end_weight_grad();
    return input_grad;
  }

  /// Largest difference between `gradient` and central differences in `at`, relative to the largest of them.
  double relative_error(std::vector<double>& at, const std::vector<double>& gradient) {
    constexpr double kStep = 1e-5;
    double error = 0;
    double largest = 0;
    for (std::size_t i = 0; i < at.size(); ++i) {
      const double middle = at[i];
      at[i] = middle + kStep;
      const double above = objective();
      at[i] = middle - kStep;
      const double below = objective();
      at[i] = middle;
      const double numeric = (above - below) / (2 * kStep);
      const double difference = std::abs(numeric - gradient[i]);
      if (std::isnan(difference)) return std::numeric_limits<double>::infinity();
      error = std::max(error, difference);
      largest = std::max(largest, std::abs(numeric));
    }
    return largest == 0 ? std::numeric_limits<double>::infinity() : error / largest;
  }
};

std::vector<LayerSpec> every_kind() {
  const auto attention = [](const std::string& name, std::int64_t kv_heads, bool causal, bool rotary, bool bias) {
    return LayerSpec{.kind = LayerKind::kAttention,
                     .name = name,
                     .width = kWidth,
                     .heads = 4,
                     .kv_heads = kv_heads,
                     .causal = causal,
                     .rotary = rotary,
                     .bias = bias};
  };
  const LayerSpec norm{.kind = LayerKind::kLayerNorm, .name = "norm", .width = kWidth};
  const LayerSpec mlp{.kind = LayerKind::kMlp, .name = "mlp", .width = kWidth, .hidden = 12};
  return {{.kind = LayerKind::kEmbedding, .name = "embedding", .width = kWidth, .vocabulary = kVocabulary},
          {.kind = LayerKind::kEmbedding,
           .name = "embedding with positions",
           .width = kWidth,
           .vocabulary = kVocabulary,
           .positions = 5},
          norm,
          {.kind = LayerKind::kLayerNorm, .name = "norm without bias", .width = kWidth, .bias = false},
          {.kind = LayerKind::kRmsNorm, .name = "rms norm", .width = kWidth},
          {.kind = LayerKind::kAttention,
           .name = "attention with a bias of queries, keys and values alone",
           .width = kWidth,
           .heads = 2,
           .bias = false,
           .qkv_bias = true},
          attention("attention", 0, true, false, true),
          attention("attention to all", 0, false, false, true),
          attention("attention, grouped", 2, true, false, false),
          attention("attention, grouped, rotary", 1, true, true, false),
          attention("attention to all, rotary", 0, false, true, true),
          mlp,
          {.kind = LayerKind::kMlp, .name = "mlp without bias", .width = kWidth, .hidden = 12, .bias = false},
          {.kind = LayerKind::kMlp, .name = "swiglu", .width = kWidth, .hidden = 12, .gated = true, .bias = false},
          {.kind = LayerKind::kMlp, .name = "swiglu with bias", .width = kWidth, .hidden = 12, .gated = true},
          {.kind = LayerKind::kLinear, .name = "linear", .width = 6, .outputs = kWidth},
          {.kind = LayerKind::kLinear, .name = "linear without bias", .width = 6, .outputs = kWidth, .bias = false},
          residual("residual", {norm, mlp}),
          residual("residual of residuals", {residual("inner", {mlp}), norm, residual("second", {mlp})}),
          {.kind = LayerKind::kHead, .name = "head", .width = kWidth, .vocabulary = kVocabulary}};
}

}  // namespace

TEST_CASE("every layer's gradients agree with central differences to 1e-6") {
  for (const LayerSpec& layer : every_kind()) {
    CAPTURE(layer.name);
    Probe probe(layer);
    const std::vector<double> input_grad = probe.backward();
    CHECK(probe.relative_error(probe.stage.weights, probe.stage.gradients) < 1e-6);
    if (!probe.input.empty()) CHECK(probe.relative_error(probe.input, input_grad) < 1e-6);
  }
}

TEST_CASE("attention over several blocks of rows has right gradients") {
  const MicrobatchShape shape{.samples = 1, .sequence = 70};  // blocks of 64 and 6 rows
  for (const bool causal : {true, false}) {
    CAPTURE(causal);
    const std::vector<LayerSpec> chain{
        {.kind = LayerKind::kLinear, .name = "before", .width = 3, .outputs = 4},
        {.kind = LayerKind::kAttention, .name = "attention", .width = 4, .heads = 2, .causal = causal, .rotary = true},
        {.kind = LayerKind::kLinear, .name = "after", .width = 4, .outputs = 3}};
    TinyStage<double> stage(chain, {1, 2}, shape);
    const std::vector<double> input = random_values(280, 1);
    const std::vector<double> output_grad = random_values(280, 2);
    const auto objective = [&](const std::vector<double>& x) {
      StageStash stash(stage.layout, stage.arena);
      stage.module.forward(stage.read(), stash.begin_forward(stage.received(x)), {}, nullptr);
      const std::vector<double> y = values_of<double>(stash.end_forward());
      double sum = 0;
      for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * output_grad[i];
      return sum;
    };
    StageStash stash(stage.layout, stage.arena);
    stage.module.forward(stage.read(), stash.begin_forward(stage.received(input)), {}, nullptr);
    static_cast<void>(stash.end_forward());
    stage.module.backward(stage.weights.data(), stage.gradients.data(),
                          stash.begin_backward(stage.received(output_grad)));
    const std::vector<double> gradient = values_of<double>(stash.end_backward());
    for (const std::size_t i : {0U, 17U, 130U, 254U, 255U, 256U, 270U, 279U}) {
      CAPTURE(i);
      std::vector<double> above = input;
      std::vector<double> below = input;
      above[i] += 1e-5;
      below[i] -= 1e-5;
      CHECK(gradient[i] == doctest::Approx((objective(above) - objective(below)) / 2e-5).epsilon(1e-6));
    }
  }
}

TEST_CASE("the gradient of a tied weight is the sum of the embedding's and the head's") {
  const MicrobatchShape shape{.samples = 2, .sequence = 5};
  const std::vector<std::int32_t> tokens = random_ids(3);
  const std::vector<std::int32_t> targets = random_ids(4);
  const MicrobatchIds ids{tokens.data(), targets.data()};
  const std::vector<LayerSpec> chain = tiny_gpt();
  TinyPipeline<double> whole(chain, {}, shape);
  whole.forward(ids);
  whole.backward(BackwardMode::kFused);
  TinyPipeline<double> cut(chain, {3}, shape);
  cut.forward(ids);
  cut.backward(BackwardMode::kFused);
  const std::vector<double> expected = whole.gradients().at("embedding.weight");
  const std::vector<double> sum = cut.gradients().at("embedding.weight");
  REQUIRE(expected.size() == 88);
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(sum[i] == doctest::Approx(expected[i]).epsilon(1e-12));

  std::vector<double>& weights = whole.stages().front()->weights;
  for (const std::size_t i : {0U, 20U, 50U, 87U}) {  // the table comes first in the flat block
    CAPTURE(i);
    const double middle = weights[i];
    weights[i] = middle + 1e-5;
    const double above = whole.forward(ids);
    weights[i] = middle - 1e-5;
    const double below = whole.forward(ids);
    weights[i] = middle;
    CHECK(expected[i] == doctest::Approx((above - below) / 2e-5).epsilon(1e-6));
  }
}

TEST_SUITE_END();
