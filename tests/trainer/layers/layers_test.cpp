#include <algorithm>
#include <cmath>
#include <cstring>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "tests/trainer/tiny_networks.hpp"
#include "tests/trainer/tiny_pipeline.hpp"
#include "trainer/ground/random.hpp"
#include "trainer/layers/exponential.hpp"

TEST_SUITE_BEGIN("trainer");

using namespace plumb;

namespace {

/// `layer` in the middle of a network, with weights given parameter after parameter.
std::vector<double> output_of(const LayerSpec& layer, const MicrobatchShape& shape, const std::vector<double>& weights,
                              const std::vector<double>& input) {
  const std::vector<LayerSpec> chain{{.kind = LayerKind::kLinear, .name = "before", .width = 1, .outputs = layer.width},
                                     layer,
                                     {.kind = LayerKind::kProfiled, .name = "after"}};
  TinyStage<double> stage(chain, {1, 2}, shape);
  REQUIRE(weights.size() == stage.weights.size());
  StageStash stash(stage.layout, stage.arena);
  stage.module.forward(weights.data(), stash.begin_forward(stage.received(input)), {}, nullptr);
  return values_of<double>(stash.end_forward());
}

std::vector<double> values_of_seed(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> values(count);
  for (double& value : values) value = random.normal();
  return values;
}

std::vector<double> identity(std::size_t n) {
  std::vector<double> values(n * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) values[i * n + i] = 1.0;
  return values;
}

std::vector<double> joined(const std::vector<std::vector<double>>& parts) {
  std::vector<double> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

const LayerSpec kOneHead{
    .kind = LayerKind::kAttention, .name = "attention", .width = 2, .heads = 1, .causal = true, .bias = false};

template <class T>
bool same_bits(const std::map<std::string, std::vector<T>>& a, const std::map<std::string, std::vector<T>>& b) {
  if (a.size() != b.size()) return false;
  for (const auto& [name, values] : a) {
    const std::vector<T>& other = b.at(name);
    const std::size_t bytes = values.size() * sizeof(T);
    if (other.size() != values.size() || std::memcmp(values.data(), other.data(), bytes) != 0) return false;
    for (T value : values) {
      if (!std::isfinite(value)) return false;
    }
  }
  return true;
}

struct Ids {
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> targets;

  explicit Ids(std::uint64_t seed) {
    Random random(seed);
    for (int i = 0; i < 10; ++i) {
      tokens.push_back(static_cast<std::int32_t>(random.below(11)));
      targets.push_back(static_cast<std::int32_t>(random.below(11)));
    }
  }
  MicrobatchIds pointers() const { return {tokens.data(), targets.data()}; }
};

template <class T>
std::map<std::string, std::vector<T>> trained_gradients(const std::vector<LayerSpec>& network,
                                                        const std::vector<std::size_t>& cuts, BackwardMode mode) {
  TinyPipeline<T> pipeline(network, cuts, {.samples = 2, .sequence = 5});
  for (std::uint64_t microbatch = 0; microbatch < 3; ++microbatch) {
    const Ids ids(microbatch);
    pipeline.forward(ids.pointers());
    pipeline.backward(mode);
  }
  if (mode == BackwardMode::kLateW) pipeline.late_weight_grads();
  return pipeline.gradients();
}

bool all_poison(const std::byte* begin, std::int64_t bytes) {
  return std::all_of(begin, begin + bytes, [](std::byte b) { return b == std::byte{0xFF}; });
}

}  // namespace

TEST_CASE("layer norm of (1, 3) is (-1, 1), scaled and shifted") {
  const LayerSpec norm{.kind = LayerKind::kLayerNorm, .name = "norm", .width = 2};
  const std::vector<double> y = output_of(norm, {1, 1}, {2, 3, 10, 20}, {1, 3});
  const double unit = 1 / std::sqrt(1 + 1e-5);
  CHECK(y[0] == doctest::Approx(10 - 2 * unit).epsilon(1e-14));
  CHECK(y[1] == doctest::Approx(20 + 3 * unit).epsilon(1e-14));
}

TEST_CASE("rms norm of (3, 4) divides by sqrt(12.5)") {
  const LayerSpec norm{.kind = LayerKind::kRmsNorm, .name = "norm", .width = 2};
  const std::vector<double> y = output_of(norm, {1, 1}, {1, 2}, {3, 4});
  CHECK(y[0] == doctest::Approx(3 / std::sqrt(12.5 + 1e-5)).epsilon(1e-14));
  CHECK(y[1] == doctest::Approx(8 / std::sqrt(12.5 + 1e-5)).epsilon(1e-14));
}

TEST_CASE("gelu is the tanh form and swiglu is silu(gate) times up") {
  const LayerSpec gelu{.kind = LayerKind::kMlp, .name = "mlp", .width = 1, .hidden = 1, .bias = false};
  const double x = 0.7;
  const double expected = 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  CHECK(output_of(gelu, {1, 1}, {1, 1}, {x})[0] == doctest::Approx(expected).epsilon(1e-14));

  LayerSpec swiglu = gelu;
  swiglu.gated = true;
  const double gate = 2 * x;
  const double up = 3 * x;
  CHECK(output_of(swiglu, {1, 1}, {2, 3, 5}, {x})[0] ==
        doctest::Approx(5 * gate / (1 + std::exp(-gate)) * up).epsilon(1e-14));
}

TEST_CASE("attention of two tokens weighs their values by the softmax of the scores") {
  const std::vector<double> weights = joined({identity(2), identity(2), identity(2), identity(2)});
  const std::vector<double> y = output_of(kOneHead, {1, 2}, weights, {1, 0, 0, 1});
  CHECK(y[0] == doctest::Approx(1).epsilon(1e-14));  // the first token sees itself only
  CHECK(y[1] == doctest::Approx(0).epsilon(1e-14));
  const double own = std::exp(1 / std::sqrt(2.0)) / (1 + std::exp(1 / std::sqrt(2.0)));
  CHECK(y[2] == doctest::Approx(1 - own).epsilon(1e-14));
  CHECK(y[3] == doctest::Approx(own).epsilon(1e-14));
}

TEST_CASE("a later token changes earlier outputs only when attention is not causal") {
  const MicrobatchShape shape{.samples = 1, .sequence = 70};
  const std::vector<double> weights = values_of_seed(16, 1);
  std::vector<double> input = values_of_seed(140, 2);
  for (const bool causal : {true, false}) {
    CAPTURE(causal);
    LayerSpec layer = kOneHead;
    layer.causal = causal;
    const std::vector<double> before = output_of(layer, shape, weights, input);
    input[136] += 1;  // token 68
    const std::vector<double> after = output_of(layer, shape, weights, input);
    input[136] -= 1;
    CHECK(std::equal(before.begin(), before.begin() + 136, after.begin()) == causal);
    CHECK_FALSE(std::equal(before.begin() + 136, before.end(), after.begin() + 136));
  }
}

TEST_CASE("samples of a microbatch do not see each other") {
  const std::vector<double> weights = values_of_seed(16, 1);
  const std::vector<double> input = values_of_seed(12, 2);
  LayerSpec layer = kOneHead;
  layer.causal = false;
  const std::vector<double> both = output_of(layer, {2, 3}, weights, input);
  const std::vector<double> second = output_of(layer, {1, 3}, weights, {input.begin() + 6, input.end()});
  for (std::size_t i = 0; i < 6; ++i) CHECK(both[6 + i] == doctest::Approx(second[i]).epsilon(1e-14));
}

TEST_CASE("grouped-query attention equals full attention whose key and value heads are repeated") {
  const LayerSpec grouped{
      .kind = LayerKind::kAttention, .name = "a", .width = 4, .heads = 4, .kv_heads = 2, .bias = false};
  LayerSpec full = grouped;
  full.kv_heads = 0;
  const std::vector<double> w = values_of_seed(32 + 16, 3);  // qkv rows: 4 queries, 2 keys, 2 values; then out
  std::vector<double> repeated(w.begin(), w.begin() + 16);
  for (const std::size_t row : {4U, 4U, 5U, 5U, 6U, 6U, 7U, 7U}) {
    repeated.insert(repeated.end(), w.begin() + static_cast<std::ptrdiff_t>(row) * 4,
                    w.begin() + static_cast<std::ptrdiff_t>(row) * 4 + 4);
  }
  repeated.insert(repeated.end(), w.begin() + 32, w.end());
  const std::vector<double> input = values_of_seed(20, 4);
  const std::vector<double> a = output_of(grouped, {1, 5}, w, input);
  const std::vector<double> b = output_of(full, {1, 5}, repeated, input);
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(1e-13));
}

TEST_CASE("rotary attention depends on distances, not on positions") {
  // Token 0 alone, or after a token whose key is far away from it: shifting two equal tokens by one position leaves
  // their scores to each other unchanged.
  LayerSpec layer = kOneHead;
  layer.rotary = true;
  layer.causal = false;
  const std::vector<double> weights = joined({identity(2), identity(2), identity(2), identity(2)});
  const std::vector<double> pair = output_of(layer, {1, 2}, weights, {1, 0, 0, 1});
  // q0.k1 turns by one radian: cos(pi/2 + 1) or cos(pi/2 - 1).
  const auto softmax = [](double own, double other) { return 1 / (1 + std::exp((other - own) / std::sqrt(2.0))); };
  CHECK(pair[0] == doctest::Approx(softmax(1, std::cos(M_PI / 2 + 1))).epsilon(1e-13));
  CHECK(pair[3] == doctest::Approx(softmax(1, std::cos(M_PI / 2 + 1))).epsilon(1e-13));
}

TEST_CASE("a head without weights loses ln(vocabulary)") {
  const std::vector<LayerSpec> chain{{.kind = LayerKind::kLinear, .name = "before", .width = 1, .outputs = 2},
                                     {.kind = LayerKind::kHead, .name = "head", .width = 2, .vocabulary = 11}};
  TinyStage<double> stage(chain, {1, 2}, {1, 3});
  std::fill(stage.weights.begin(), stage.weights.end(), 0.0);
  const std::vector<std::int32_t> targets{0, 5, 10};
  double loss = 0;
  StageStash stash(stage.layout, stage.arena);
  stage.module.forward(stage.weights.data(), stash.begin_forward(stage.received({1, 2, 3, 4, 5, 6})),
                       {nullptr, targets.data()}, &loss);
  CHECK(stash.end_forward().bytes() == 0);
  CHECK(loss == doctest::Approx(std::log(11.0)).epsilon(1e-15));
}

TEST_CASE("the float exponential is within 2 ulp of the true one") {
  double worst = 0;
  for (double x = -87; x < 88; x += 0.0137) {
    const auto argument = static_cast<float>(x);
    const double truth = std::exp(static_cast<double>(argument));
    const double ulp = truth * 0x1p-23;
    worst = std::max(worst, std::abs(static_cast<double>(exponential(argument)) - truth) / ulp);
  }
  CHECK(worst < 2);
  CHECK(exponential(0.0F) == 1.0F);
}

TEST_CASE("B gives the same bits as I and W apart, and as all W at the very end") {
  for (const auto& network : {tiny_gpt(), tiny_llama()}) {
    const auto fused = trained_gradients<float>(network, {}, BackwardMode::kFused);
    CHECK(same_bits(fused, trained_gradients<float>(network, {}, BackwardMode::kSplit)));
    CHECK(same_bits(fused, trained_gradients<float>(network, {}, BackwardMode::kLateW)));
  }
}

TEST_CASE("a network cut anywhere gives the same bits as the whole") {
  for (auto network : {tiny_gpt(), tiny_llama()}) {
    network.back().tied = false;  // the sum of a tied gradient depends on where it is added
    const auto whole = trained_gradients<float>(network, {}, BackwardMode::kFused);
    for (std::size_t cut = 1; cut < network.size(); ++cut) {
      CAPTURE(cut);
      CHECK(same_bits(whole, trained_gradients<float>(network, {cut}, BackwardMode::kFused)));
      CHECK(same_bits(whole, trained_gradients<float>(network, {cut}, BackwardMode::kLateW)));
    }
    std::vector<std::size_t> everywhere;
    for (std::size_t cut = 1; cut < network.size(); ++cut) everywhere.push_back(cut);
    CHECK(same_bits(whole, trained_gradients<float>(network, everywhere, BackwardMode::kSplit)));
  }
}

TEST_CASE("a stash dropped by F and made again gives the same bits") {
  for (const auto& network : {tiny_gpt(), tiny_llama()}) {
    const Ids ids(1);
    for (const std::vector<std::size_t>& cuts : {std::vector<std::size_t>{}, std::vector<std::size_t>{1, 3}}) {
      TinyPipeline<float> kept(network, cuts, {.samples = 2, .sequence = 5});
      kept.forward(ids.pointers());
      kept.backward(BackwardMode::kFused);
      for (const StashRemake recompute : {StashRemake::kFolded, StashRemake::kExplicit}) {
        for (const BackwardMode mode : {BackwardMode::kFused, BackwardMode::kSplit}) {
          TinyPipeline<float> dropped(network, cuts, {.samples = 2, .sequence = 5});
          dropped.forward(ids.pointers(), StashLife::kUntilEndOfForward);
          for (const auto& stage : dropped.stages()) {
            CHECK(stage->arena.live_bytes() == stage->layout.memory.input_bytes);
          }
          dropped.backward(mode, recompute);
          CHECK(same_bits(kept.gradients(), dropped.gradients()));
          for (const auto& stage : dropped.stages()) CHECK(stage->arena.live_bytes() == 0);
        }
      }
    }
  }
}

TEST_CASE("every listed tensor is written whole, and nothing beside it") {
  for (const auto& network : {tiny_gpt(), tiny_llama()}) {
    TinyStage<float> stage(network, {0, network.size()}, {.samples = 2, .sequence = 5});
    const Ids ids(1);
    double loss = 0;
    StageStash stash(stage.layout, stage.arena);
    StageBlocks blocks = stash.begin_forward({});
    stage.module.forward(stage.weights.data(), blocks, ids.pointers(), &loss);
    static_cast<void>(stash.end_forward());
    const auto check = [&](const TensorPlace& place, std::int64_t bytes) {
      const auto* begin = reinterpret_cast<const std::int32_t*>(blocks.at(place));
      const bool written = std::none_of(begin, begin + bytes / 4, [](std::int32_t v) { return v == -1; });
      CHECK(written);
      CHECK(all_poison(blocks.at(place) + bytes, aligned_bytes(bytes) - bytes));
    };
    const auto check_all = [&](StashTensor::MadeBy made_by, TensorPlace TensorPlaces::*pass) {
      for (const LayoutStep& step : stage.layout.steps) {
        for (std::size_t t = 0; t < step.stash.size(); ++t) {
          CAPTURE(step.facts.stash[t].name);
          if (step.facts.stash[t].made_by == made_by) check(step.stash[t].*pass, step.facts.stash[t].bytes);
        }
      }
    };
    check_all(StashTensor::MadeBy::kForward, &TensorPlaces::f);
    for (std::size_t k = 1; k < stage.layout.steps.size(); ++k) {
      CAPTURE(k);
      check(stage.layout.values[k].f, stage.layout.value_bytes[k]);
    }
    blocks = stash.begin_input_grad({});
    stage.module.input_grad(stage.weights.data(), stage.gradients.data(), blocks);
    check_all(StashTensor::MadeBy::kInputGrad, &TensorPlaces::i);
    CHECK(stash.end_input_grad().bytes() == 0);
  }
}

TEST_CASE("a stash that went through F, I and W, or F and B, leaves no memory allocated") {
  for (const BackwardMode mode : {BackwardMode::kFused, BackwardMode::kSplit}) {
    TinyPipeline<float> pipeline(tiny_gpt(), {2, 4}, {.samples = 2, .sequence = 5});
    const Ids ids(1);
    pipeline.forward(ids.pointers());
    for (const auto& stage : pipeline.stages()) CHECK(stage->arena.live_bytes() > 0);
    pipeline.backward(mode);
    for (const auto& stage : pipeline.stages()) CHECK(stage->arena.live_bytes() == 0);
  }
}

TEST_CASE("after its first microbatch a stage asks for no more storage") {
  TinyPipeline<float> pipeline(tiny_gpt(), {3}, {.samples = 2, .sequence = 5});
  const Ids ids(1);
  std::vector<std::int64_t> reserved;
  for (int microbatch = 0; microbatch < 4; ++microbatch) {
    pipeline.forward(ids.pointers());
    pipeline.backward(BackwardMode::kSplit);
    reserved.push_back(pipeline.stages().front()->arena.reserved_bytes());
  }
  CHECK(reserved.front() > 0);
  CHECK(reserved == std::vector<std::int64_t>(4, reserved.front()));
}

TEST_CASE("a profiled layer cannot be trained") {
  const std::vector<LayerSpec> chain{{.kind = LayerKind::kProfiled, .name = "conv1"}};
  CHECK_THROWS_WITH_AS((TinyStage<float>(chain, {0, 1}, {1, 1})),
                       "layer 'conv1': cannot be trained; a profiled layer has times, but no arithmetic", Error);
}

TEST_SUITE_END();
