#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "models/layers/describe_layer.hpp"

TEST_SUITE_BEGIN("models");

using namespace plumb;

namespace {

constexpr std::int64_t kH = 64;
constexpr std::int64_t kS = 32;
constexpr std::int64_t kB = 3;
constexpr MicrobatchShape kShape{.samples = kB, .sequence = kS};

/// bf16 activations and weights, as in the references' figures.
LayerFacts facts_of(const LayerSpec& layer) { return describe(layer, kShape, kMixedPrecision); }

LayerSpec attention() { return {.kind = LayerKind::kAttention, .name = "attention", .width = kH, .heads = 4}; }
LayerSpec mlp() { return {.kind = LayerKind::kMlp, .name = "mlp", .width = kH, .hidden = 4 * kH}; }
LayerSpec norm(const std::string& name) { return {.kind = LayerKind::kLayerNorm, .name = name, .width = kH}; }
LayerSpec residual(const std::string& name, std::vector<LayerSpec> body) {
  return {.kind = LayerKind::kResidual, .name = name, .width = kH, .body = std::move(body)};
}

/// A GPT block: two residuals.
std::vector<LayerFacts> gpt_block() {
  return {facts_of(residual("a", {norm("norm1"), attention()})), facts_of(residual("m", {norm("norm2"), mlp()}))};
}

std::int64_t kept(const std::vector<LayerFacts>& layers, StashTensor::MadeBy made_by, LastUse last_use) {
  std::int64_t bytes = 0;
  for (const LayerFacts& layer : layers) {
    for (const StashTensor& tensor : layer.stash) {
      if (tensor.made_by == made_by && tensor.last_use == last_use) bytes += tensor.bytes;
    }
  }
  return bytes;
}

}  // namespace

TEST_CASE("a GPT block does s b h (24h + 4s) FLOPs forward, (24h + 8s) for inputs and 24h for weights") {
  double forward = 0;
  double input_grad = 0;
  double weight_grad = 0;
  for (const LayerFacts& layer : gpt_block()) {
    forward += layer.forward.flops;
    input_grad += layer.input_grad.flops;
    weight_grad += layer.weight_grad.flops;
  }
  CHECK(forward == kS * kB * kH * (24 * kH + 4 * kS));
  CHECK(input_grad == kS * kB * kH * (24 * kH + 8 * kS));
  CHECK(weight_grad == kS * kB * kH * 24 * kH);
}

TEST_CASE("a language-model head does 2 s b h V FLOPs in each pass") {
  const LayerFacts head = facts_of({.kind = LayerKind::kHead, .name = "head", .width = kH, .vocabulary = 1000});
  CHECK(head.forward.flops == 2 * kS * kB * kH * 1000);
  CHECK(head.input_grad.flops + head.weight_grad.flops == 4 * kS * kB * kH * 1000);
}

TEST_CASE("grouped queries and gated MLPs cost what their widths say") {
  LayerSpec grouped = attention();
  grouped.kv_heads = 2;
  CHECK(facts_of(grouped).forward.flops ==
        2 * kS * kB * kH * (kH + 2 * kH * 2 / 4) + 2 * kS * kB * kH * kH + 4 * kS * kS * kB * kH);
  const LayerSpec gated{.kind = LayerKind::kMlp, .name = "mlp", .width = kH, .hidden = 100, .gated = true};
  CHECK(facts_of(gated).forward.flops == 2 * kS * kB * kH * 100 * 3);
}

TEST_CASE("heads have a width of their own, and norms keep their queries and keys") {
  LayerSpec wide = attention();
  wide.kv_heads = 2;
  wide.bias = false;
  wide.head_width = kH / 2;  // 4 heads: 2h of queries, h of keys, h of values
  const LayerFacts plain = facts_of(wide);
  CHECK(plain.parameter_count() == 4 * kH * kH + 2 * kH * kH);
  CHECK(plain.forward.flops == 2 * kS * kB * kH * (4 * kH + 2 * kH) + 4 * kS * kS * kB * 2 * kH);
  const auto kept_for = [](const LayerFacts& facts, LastUse use) {
    return kept({facts}, StashTensor::MadeBy::kForward, use);
  };
  CHECK(kept_for(plain, LastUse::kWeightGrad) == kS * kB * 2 * kH * kMixedPrecision.activation_bytes);
  wide.head_norm = true;
  const LayerFacts normed = facts_of(wide);
  CHECK(normed.parameter_count() == plain.parameter_count() + 2 * kH / 2);
  CHECK(normed.forward.flops == plain.forward.flops);
  CHECK(kept_for(normed, LastUse::kInputGrad) - kept_for(plain, LastUse::kInputGrad) ==
        kS * kB * (3 * kH * kMixedPrecision.activation_bytes + 6 * 4));
  wide.head_width = kH / 4;  // as without it
  wide.head_norm = false;
  LayerSpec filling = wide;
  filling.head_width = 0;
  CHECK(facts_of(wide) == facts_of(filling));
}

TEST_CASE("causal attention counts the whole score matrix") {
  LayerSpec all = attention();
  all.causal = false;
  CHECK(facts_of(all).forward.flops == facts_of(attention()).forward.flops);
}

TEST_CASE("a GPT block keeps 9h elements per token for I and 7h for W, and I makes 9h for W") {
  // The list of gpu-runtime 4.2. x_in and the two outgoing gradients lie between the blocks: h of each list.
  const std::vector<LayerFacts> block = gpt_block();
  const std::int64_t element = 2 * kS * kB * kH;
  const std::int64_t norm_statistics = 2 * 2 * kS * kB * 4;
  const std::int64_t log_sums = kS * kB * 4 * 4;
  const auto by_forward = StashTensor::MadeBy::kForward;
  CHECK(kept(block, by_forward, LastUse::kInputGrad) == (9 - 2) * element + norm_statistics + log_sums);
  CHECK(kept(block, by_forward, LastUse::kWeightGrad) == 7 * element);
  CHECK(kept(block, StashTensor::MadeBy::kInputGrad, LastUse::kWeightGrad) == (9 - 2) * element);
  for (const LayerFacts& layer : block) {
    CHECK(layer.input_last_use == LastUse::kInputGrad);
    CHECK(layer.output_grad_last_use == LastUse::kWeightGrad);
    CHECK(layer.input_bytes == element);
    CHECK(layer.output_bytes == element);
  }
}

TEST_CASE("a GPT block has 12 h^2 + 13 h parameters") {
  std::int64_t parameters = 0;
  for (const LayerFacts& layer : gpt_block()) parameters += layer.parameter_count();
  CHECK(parameters == 12 * kH * kH + 13 * kH);
}

TEST_CASE("GPT-2 XL has 1,557,611,200 parameters and Llama-2 70B 68,976,648,192") {
  const MicrobatchShape one{.samples = 1, .sequence = 8};
  const auto count = [&](const LayerSpec& layer) { return describe(layer, one, kMixedPrecision).parameter_count(); };
  const auto of = [](LayerKind kind) { return LayerSpec{.kind = kind, .name = "x", .width = 1600, .heads = 25}; };
  LayerSpec xl_mlp = of(LayerKind::kMlp);
  xl_mlp.hidden = 6400;
  LayerSpec embedding = of(LayerKind::kEmbedding);
  embedding.vocabulary = 50257;
  embedding.positions = 1024;
  const std::int64_t block = 2 * count(of(LayerKind::kLayerNorm)) + count(of(LayerKind::kAttention)) + count(xl_mlp);
  CHECK(count(embedding) + 48 * block + count(of(LayerKind::kLayerNorm)) == 1557611200);

  const auto llama = [](LayerKind kind) {
    return LayerSpec{.kind = kind,
                     .name = "x",
                     .width = 8192,
                     .heads = 64,
                     .kv_heads = 8,
                     .hidden = 28672,
                     .vocabulary = 32000,
                     .gated = kind == LayerKind::kMlp,
                     .bias = false};
  };
  const std::int64_t norm70 = count(llama(LayerKind::kRmsNorm));
  const std::int64_t block70 = 2 * norm70 + count(llama(LayerKind::kAttention)) + count(llama(LayerKind::kMlp));
  CHECK(count(llama(LayerKind::kEmbedding)) + 80 * block70 + norm70 + count(llama(LayerKind::kHead)) == 68976648192);
}

TEST_CASE("matrices and tables decay, biases and norm scales do not") {
  for (const LayerFacts& layer : gpt_block()) {
    for (const ParameterFacts& parameter : layer.parameters) {
      CAPTURE(parameter.name);
      CHECK(parameter.decayed == (parameter.shape.size() == 2));
    }
  }
  const LayerFacts block = gpt_block().front();
  CHECK(block.parameters[0].name == "norm1.weight");
  CHECK(block.parameters[0].initial_mean == 1.0);
  CHECK(block.parameters[2].name == "attention.qkv.weight");
  CHECK(block.parameters[2].shape == std::vector<std::int64_t>{3 * kH, kH});
}

TEST_CASE("an embedding keeps the token ids for W and has no work for I") {
  const LayerFacts facts = facts_of({.kind = LayerKind::kEmbedding, .name = "e", .width = kH, .vocabulary = 9});
  REQUIRE(facts.stash.size() == 1);
  CHECK(facts.stash[0] == StashTensor{"e.tokens", kS * kB * 4, StashTensor::MadeBy::kForward, LastUse::kWeightGrad});
  CHECK(facts.input_grad == PassFacts{});
  CHECK(facts.output_grad_last_use == LastUse::kWeightGrad);
}

TEST_CASE("a linear layer moves its operands once") {
  const LayerFacts facts =
      facts_of({.kind = LayerKind::kLinear, .name = "l", .width = kH, .outputs = 10, .bias = false});
  CHECK(facts.forward.bytes_moved == 2 * (kS * kB * kH + kS * kB * 10 + 10 * kH));
  CHECK(facts.weight_grad.bytes_moved ==
        2 * (kS * kB * kH + kS * kB * 10) + 2 * 4 * 10 * kH);  // fp32, read and written
}

TEST_CASE("a profiled layer is its figures") {
  const LayerFacts facts = facts_of({.kind = LayerKind::kProfiled,
                                     .name = "conv1",
                                     .profiled = {.f_ns = 1,
                                                  .i_ns = 2,
                                                  .w_ns = 3,
                                                  .parameter_bytes = 200,
                                                  .output_bytes = 50,
                                                  .kept_for_input_grad_bytes = 30,
                                                  .kept_for_weight_grad_bytes = 20}});
  CHECK(facts.parameter_count() * kMixedPrecision.weight_bytes == 200);
  CHECK(facts.output_bytes == 50);
  CHECK(facts.stash == std::vector<StashTensor>{
                           {"conv1.kept_for_input_grad", 30, StashTensor::MadeBy::kForward, LastUse::kInputGrad},
                           {"conv1.kept_for_weight_grad", 20, StashTensor::MadeBy::kForward, LastUse::kWeightGrad}});
}

TEST_CASE("sizes that contradict each other are refused with the layer's name") {
  LayerSpec layer = attention();
  layer.heads = 5;
  CHECK_THROWS_WITH_AS(facts_of(layer), "layer 'attention': heads (5) must divide width (64)", Error);
  layer = attention();
  layer.kv_heads = 3;
  CHECK_THROWS_WITH_AS(facts_of(layer), "layer 'attention': kv_heads (3) must divide heads (4)", Error);
  layer = attention();
  layer.heads = 64;
  layer.rotary = true;
  CHECK_THROWS_WITH_AS(facts_of(layer), "layer 'attention': rotary needs an even width per head, found 1", Error);
  CHECK_THROWS_WITH_AS(
      facts_of({.kind = LayerKind::kEmbedding, .name = "e", .width = kH, .vocabulary = 9, .positions = 31}),
      "layer 'e': positions (31) must be at least the sequence length (32)", Error);
  CHECK_THROWS_WITH_AS(facts_of(residual("r", {})), "layer 'r': a residual needs at least one layer in its body",
                       Error);
  CHECK_THROWS_AS(facts_of(residual("r", {{.kind = LayerKind::kLinear, .name = "l", .width = kH, .outputs = 2 * kH}})),
                  Error);
}

TEST_SUITE_END();
