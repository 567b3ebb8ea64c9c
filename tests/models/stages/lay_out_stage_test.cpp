#include <algorithm>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "models/stages/lay_out_stage.hpp"
#include "models/stages/workspace_plan.hpp"

TEST_SUITE_BEGIN("models");

using namespace plumb;

namespace {

constexpr std::int64_t kWidth = 64;
constexpr MicrobatchShape kLayoutShape{.samples = 3, .sequence = 32};
constexpr std::int64_t kValue = 96 * kWidth * 2;  ///< bytes of one activation of width kWidth, bf16

LayerSpec norm_layer(const std::string& name) { return {.kind = LayerKind::kLayerNorm, .name = name, .width = kWidth}; }
LayerSpec residual_layer(const std::string& name, std::vector<LayerSpec> body) {
  return {.kind = LayerKind::kResidual, .name = name, .width = kWidth, .body = std::move(body)};
}

/// Layers 0: embedding, 1 to 4: two blocks, 5: norm, 6: tied head.
std::vector<LayerSpec> gpt() {
  std::vector<LayerSpec> layers{
      {.kind = LayerKind::kEmbedding, .name = "embedding", .width = kWidth, .vocabulary = 100}};
  for (const std::string block : {"block0", "block1"}) {
    layers.push_back(residual_layer(
        block + ".a", {norm_layer(block + ".norm1"),
                       {.kind = LayerKind::kAttention, .name = block + ".attention", .width = kWidth, .heads = 4}}));
    layers.push_back(residual_layer(
        block + ".m", {norm_layer(block + ".norm2"),
                       {.kind = LayerKind::kMlp, .name = block + ".mlp", .width = kWidth, .hidden = 4 * kWidth}}));
  }
  layers.push_back(norm_layer("norm"));
  layers.push_back({.kind = LayerKind::kHead, .name = "head", .width = kWidth, .vocabulary = 100, .tied = true});
  return layers;
}

StageLayout layout(LayerRange range) { return stage_layout(gpt(), range, kLayoutShape, kMixedPrecision); }

std::int64_t bytes(const StageMemory& memory, StashTensor::MadeBy made_by, LastUse last_use) {
  std::int64_t sum = 0;
  for (const StashTensor& tensor : memory.stash) {
    if (tensor.made_by == made_by && tensor.last_use == last_use) sum += tensor.bytes;
  }
  return sum;
}

const StashTensor* find(const StageMemory& memory, const std::string& name) {
  const auto found = std::find_if(memory.stash.begin(), memory.stash.end(),
                                  [&](const StashTensor& tensor) { return tensor.name == name; });
  return found == memory.stash.end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("one block as a stage keeps 16h elements per token after F and 16h for W after I") {
  const StageMemory memory = layout({1, 3}).memory;
  const std::int64_t statistics = 4 * 96 * 4 + 96 * 4 * 4;  // two norms, log-sums of four heads
  const auto by_forward = StashTensor::MadeBy::kForward;
  const std::int64_t for_input_grad = bytes(memory, by_forward, LastUse::kInputGrad);
  const std::int64_t for_weight_grad = bytes(memory, by_forward, LastUse::kWeightGrad);
  CHECK(memory.input_bytes == kValue);
  CHECK(memory.input_last_use == LastUse::kInputGrad);
  CHECK(memory.input_bytes + for_input_grad + for_weight_grad == 16 * kValue + statistics);
  CHECK(for_weight_grad + bytes(memory, StashTensor::MadeBy::kInputGrad, LastUse::kWeightGrad) == 16 * kValue);
}

TEST_CASE("a value between two layers appears once, with the last use of its reader") {
  const StageMemory memory = layout({1, 5}).memory;
  const auto count = std::count_if(memory.stash.begin(), memory.stash.end(),
                                   [](const StashTensor& tensor) { return tensor.name == "block0.attention.output"; });
  CHECK(count == 1);
  CHECK(find(memory, "block0.attention.output")->last_use == LastUse::kInputGrad);  // read by a norm
  CHECK(find(memory, "block0.norm1.output")->last_use == LastUse::kWeightGrad);     // read by a projection
  CHECK(find(memory, "block1.mlp.output") == nullptr);                              // handed to the next stage
  CHECK(find(memory, "block0.attention.output_grad")->made_by == StashTensor::MadeBy::kInputGrad);
  CHECK(find(memory, "block0.norm1.output_grad") == nullptr);  // a norm does not need it after I
}

TEST_CASE("I copies a received gradient that W still needs") {
  CHECK(layout({1, 3}).copied_grads.size() == 1);
  CHECK(find(layout({1, 3}).memory, "block0.mlp.output_grad")->bytes == kValue);
  const StageLayout before_head = layout({1, 6});  // ends with a norm
  CHECK(before_head.copied_grads.empty());
  CHECK(find(before_head.memory, "norm.output_grad") == nullptr);
}

TEST_CASE("the first stage receives nothing and keeps its tokens; the last one sends nothing") {
  const StageMemory first = layout({0, 2}).memory;
  CHECK(first.input_bytes == 0);
  CHECK(first.input_grad_bytes == 0);
  CHECK(first.output_bytes == kValue);
  CHECK(find(first, "embedding.tokens")->bytes == 96 * 4);
  const StageMemory last = layout({5, 7}).memory;
  CHECK(last.input_bytes == kValue);
  CHECK(last.output_bytes == 0);
  CHECK(last.output_grad_bytes == 0);
}

TEST_CASE("fused backward holds what I makes for W in its workspace, layer by layer") {
  // Largest moment: the MLP with its inner gradient (4h), the gradients at both of its ends (h each). The gradient
  // of the stage's output is received, not workspace.
  const StageMemory memory = layout({2, 3}).memory;
  CHECK(memory.workspace_b_bytes == (4 + 1) * kValue);
  CHECK(memory.workspace_i_bytes == kValue);  // between norm and MLP
  CHECK(memory.workspace_f_bytes == 0);
  CHECK(memory.workspace_w_bytes == 0);
  const StageMemory four = layout({1, 5}).memory;
  CHECK(four.workspace_b_bytes < bytes(four, StashTensor::MadeBy::kInputGrad, LastUse::kWeightGrad));
}

TEST_CASE("a tied weight counts in both of its stages, but once where it is alone") {
  const std::int64_t table = 100 * kWidth * 2;
  const auto weights = [](LayerRange range) { return layout(range).memory.weight_bytes; };
  CHECK(weights({0, 1}) == table);
  CHECK(weights({6, 7}) == table);
  CHECK(weights({0, 3}) + weights({3, 7}) == weights({0, 7}) + table);
  const StageLayout last = layout({6, 7});
  CHECK(last.parameters.front().name == "embedding.weight");
  CHECK(last.parameters.front().tied);
  CHECK_FALSE(layout({0, 7}).parameters.front().tied);
  CHECK(last.memory.gradient_bytes == 2 * table);
  CHECK(last.memory.optimizer_bytes == 6 * table);
}

TEST_CASE("cuts move what is kept between stages, but lose nothing") {
  const auto by_forward = StashTensor::MadeBy::kForward;
  const auto kept = [&](LayerRange range) {
    const StageMemory memory = layout(range).memory;
    return memory.input_bytes + bytes(memory, by_forward, LastUse::kInputGrad) +
           bytes(memory, by_forward, LastUse::kWeightGrad);
  };
  for (std::size_t cut = 1; cut < 7; ++cut) {
    CAPTURE(cut);
    CHECK(kept({0, cut}) + kept({cut, 7}) == kept({0, 7}));
  }
}

TEST_CASE("tensors of one block do not overlap") {
  const StageLayout whole = layout({0, 7});
  struct Piece {
    TensorPlace place;
    std::int64_t bytes;
  };
  std::vector<Piece> pieces;
  for (const LayoutStep& step : whole.steps) {
    for (std::size_t t = 0; t < step.stash.size(); ++t) {
      const TensorPlaces& places = step.stash[t];
      pieces.push_back({places.f.block == StageBlock::kNone ? places.i : places.f, step.facts.stash[t].bytes});
    }
  }
  for (std::size_t k = 1; k < whole.steps.size(); ++k) {
    pieces.push_back({whole.values[k].f, whole.value_bytes[k]});
    if (whole.gradients[k].w.block != StageBlock::kNone) pieces.push_back({whole.gradients[k].w, whole.value_bytes[k]});
  }
  CHECK(pieces.size() == whole.memory.stash.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    CHECK(pieces[i].place.offset % 64 == 0);
    for (std::size_t j = 0; j < i; ++j) {
      if (pieces[i].place.block != pieces[j].place.block) continue;
      const bool apart = pieces[i].place.offset + pieces[i].bytes <= pieces[j].place.offset ||
                         pieces[j].place.offset + pieces[j].bytes <= pieces[i].place.offset;
      CHECK(apart);
    }
  }
}

TEST_CASE("a profiled chain hands over its outputs") {
  const auto layer = [](const std::string& name, std::int64_t output) {
    return LayerSpec{.kind = LayerKind::kProfiled,
                     .name = name,
                     .profiled = {.output_bytes = output, .kept_for_input_grad_bytes = 5}};
  };
  const std::vector<LayerSpec> chain{layer("a", 100), layer("b", 200), layer("c", 300)};
  const StageMemory middle = stage_memory(chain, {1, 2}, {1, 1}, kMixedPrecision);
  CHECK(middle.input_bytes == 100);
  CHECK(middle.input_last_use == LastUse::kForward);
  CHECK(middle.output_bytes == 200);
  CHECK(middle.stash.size() == 1);
}

TEST_CASE("layers that do not fit together are refused") {
  std::vector<LayerSpec> layers = gpt();
  layers[5].width = 32;
  CHECK_THROWS_WITH_AS(stage_layout(layers, {0, 7}, kLayoutShape, kMixedPrecision),
                       "layer 'norm': reads 6144 bytes per microbatch, but the layer before it makes 12288", Error);
  layers = gpt();
  layers[6].vocabulary = 99;
  CHECK_THROWS_WITH_AS(stage_layout(layers, {6, 7}, kLayoutShape, kMixedPrecision),
                       "layer 'head': tied to 'embedding', but of another vocabulary or width", Error);
  layers.erase(layers.begin());
  CHECK_THROWS_WITH_AS(stage_layout(layers, {5, 6}, kLayoutShape, kMixedPrecision),
                       "layer 'head': tied, but the network has no embedding", Error);
}

TEST_CASE("a workspace plan overlays tensors that are never alive together") {
  TensorPlace a;
  TensorPlace b;
  TensorPlace c;
  WorkspacePlan plan;
  plan.add(a, 100, 0, 1);
  plan.add(b, 64, 1, 2);
  plan.add(c, 120, 2, 3);
  CHECK(plan.finish() == 192);
  CHECK(c == TensorPlace{StageBlock::kWorkspace, 0});  // the same size as a once aligned, after a's time
  CHECK(a == TensorPlace{StageBlock::kWorkspace, 0});
  CHECK(b == TensorPlace{StageBlock::kWorkspace, 128});
}

TEST_SUITE_END();
