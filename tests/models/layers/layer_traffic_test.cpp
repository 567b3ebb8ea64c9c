// What every kind of layer computes, moves and keeps, written once more as a list of operands: bytes of a pass are
// those of every matrix and vector that its kernels read or write. Numbers of different kinds have different sizes, so
// that one kind is never counted for another.
#include <cmath>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "models/layers/describe_layer.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb {
namespace {

constexpr std::int64_t kSamples = 3;
constexpr std::int64_t kTokensEach = 128;
constexpr std::int64_t kTokens = kSamples * kTokensEach;
constexpr Precision kUnlike{.activation_bytes = 2, .weight_bytes = 3, .gradient_bytes = 5, .optimizer_bytes = 7};

LayerFacts of(const LayerSpec& layer) {
  return describe(layer, {.samples = kSamples, .sequence = kTokensEach}, kUnlike);
}

std::int64_t values(std::int64_t features) { return kTokens * features * 2; }
std::int64_t weights_read(std::int64_t count) { return count * 3; }
std::int64_t gradients_added(std::int64_t count) { return 2 * count * 5; }
double product_flops(std::int64_t inputs, std::int64_t outputs) {
  return 2.0 * static_cast<double>(kTokens * inputs * outputs);
}

struct Passes {
  PassFacts forward, input_grad, weight_grad;
};

void check_passes(const LayerFacts& facts, const Passes& expected) {
  const auto check = [](const PassFacts& found, const PassFacts& wanted) {
    CHECK(found.flops == wanted.flops);
    CHECK(found.bytes_moved == wanted.bytes_moved);
    CHECK(found.workspace_bytes == wanted.workspace_bytes);
  };
  check(facts.forward, expected.forward);
  check(facts.input_grad, expected.input_grad);
  check(facts.weight_grad, expected.weight_grad);
}

/// Bytes that a layer keeps, in the order in which it names them.
std::vector<std::int64_t> kept_bytes(const LayerFacts& facts) {
  std::vector<std::int64_t> bytes;
  for (const StashTensor& tensor : facts.stash) bytes.push_back(tensor.bytes);
  return bytes;
}

std::vector<std::vector<std::int64_t>> shapes(const LayerFacts& facts) {
  std::vector<std::vector<std::int64_t>> all;
  for (const ParameterFacts& parameter : facts.parameters) all.push_back(parameter.shape);
  return all;
}

using Shapes = std::vector<std::vector<std::int64_t>>;
using Bytes = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("attention moves its input, heads and output, and in the backward the gradients of all three") {
  // 4 heads of 16 columns, 2 of keys and of values: 64 + 2 * 32 columns of q | k | v.
  const LayerSpec layer{.kind = LayerKind::kAttention,
                        .name = "a",
                        .width = 48,
                        .heads = 4,
                        .kv_heads = 2,
                        .head_width = 16,
                        .rotary = true,
                        .bias = true};
  const LayerFacts facts = of(layer);
  const std::int64_t parameters = 128 * 48 + 128 + 48 * 64 + 48;
  CHECK(facts.parameter_count() == parameters);
  CHECK(shapes(facts) == Shapes{{128, 48}, {128}, {48, 64}, {48}});
  const double projections = product_flops(48, 128) + product_flops(64, 48);
  const double scores = product_flops(64, kTokensEach) + product_flops(kTokensEach, 64);
  const std::int64_t rows = 64 * kTokensEach * 2;    // of the scores, handled together
  const std::int64_t angles = kTokensEach * 16 * 2;  // of the rotary embedding
  // F: x, qkv written and read, attended written and read, y. I: qkv, attended and both gradients; dy and dx.
  check_passes(facts,
               {{projections + scores, values(48 + 128 + 128 + 64 + 64 + 48) + weights_read(parameters), rows + angles},
                {projections + 2 * scores, values(48 + 3 * 128 + 3 * 64 + 48) + weights_read(parameters),
                 2 * rows + angles + values(64)},
                {projections, values(48 + 128 + 64 + 48) + gradients_added(parameters), 0}});
  CHECK(kept_bytes(facts) == Bytes{values(128), kTokens * 4 * 4, values(64), values(128)});
  CHECK(facts.key_grad_bytes == 0);
  CHECK(facts.earlier_key_grad_bytes == 0);
}

TEST_CASE("attention has a bias for queries, keys and values alone where the layer says so") {
  LayerSpec layer{.kind = LayerKind::kAttention, .name = "a", .width = 64, .heads = 4, .bias = false};
  CHECK(shapes(of(layer)) == Shapes{{192, 64}, {64, 64}});
  layer.qkv_bias = true;
  CHECK(shapes(of(layer)) == Shapes{{192, 64}, {192}, {64, 64}});
}

TEST_CASE("a slice of a sequence sees the keys before it, gathers them and hands their gradients on") {
  const LayerSpec layer{.kind = LayerKind::kAttention, .name = "a", .width = 64, .heads = 4, .kv_heads = 2};
  const MicrobatchShape last{.samples = 3, .sequence = 32, .before = 96, .after = 0};
  const LayerFacts facts = describe(layer, last, kUnlike);
  // Scores: half of the square of the whole sequence, less that of the prefix, doubled: s (s + 2 before) columns.
  const double all = 2.0 * 2 * 3 * 64 * (128.0 * 128 - 96.0 * 96);
  const double projections = 2.0 * 96 * (64 * 128 + 64 * 64);
  CHECK(facts.forward.flops == projections + all);
  CHECK(facts.input_grad.flops == projections + 2 * all);
  const std::int64_t rows = 32 * 128 * 2;      // a slice of 32 tokens has no 64 rows
  const std::int64_t gathered = 128 * 64 * 2;  // keys and values of a sample: 2 heads of 16 columns each
  CHECK(facts.forward.workspace_bytes == rows + gathered);
  CHECK(facts.input_grad.workspace_bytes == 2 * rows + 2 * gathered + 96 * 64 * 2);
  CHECK(facts.earlier_key_grad_bytes == 3 * 96 * 64 * 2);
  CHECK(facts.key_grad_bytes == 0);
  const LayerFacts first = describe(layer, {.samples = 3, .sequence = 32, .before = 0, .after = 96}, kUnlike);
  CHECK(first.key_grad_bytes == 3 * 32 * 64 * 2);
  CHECK(first.earlier_key_grad_bytes == 0);
  CHECK(first.forward.workspace_bytes == 32 * 32 * 2);
  LayerSpec open = layer;
  open.causal = false;
  CHECK_THROWS_WITH_AS(describe(open, last, kUnlike), "layer 'a': sequence slices need causal attention", Error);
}

TEST_CASE("norms of heads read and write queries and keys once more") {
  LayerSpec layer{.kind = LayerKind::kAttention, .name = "a", .width = 64, .heads = 4, .kv_heads = 2};
  const LayerFacts plain = of(layer);
  layer.head_norm = true;
  const LayerFacts normed = of(layer);
  const std::int64_t rows = values(6 * 16);         // 4 heads of queries and 2 of keys
  const std::int64_t statistics = kTokens * 6 * 4;  // a 32-bit number for every head of every token
  CHECK(normed.forward.bytes_moved - plain.forward.bytes_moved == 2 * rows + statistics + weights_read(2 * 16));
  CHECK(normed.input_grad.bytes_moved - plain.input_grad.bytes_moved ==
        3 * rows + statistics + weights_read(2 * 16) + gradients_added(2 * 16));
  layer.kv_heads = 0;  // as many as heads
  CHECK(of(layer).stash.back().bytes == kTokens * 8 * 4);
}

TEST_CASE(
    "an attention core reads queries, keys and values that are given, and keeps a number for every row and head") {
  LayerSpec layer{.kind = LayerKind::kAttentionCore, .name = "c", .width = 64, .heads = 4, .causal = false};
  const LayerFacts facts = of(layer);
  const double scores = product_flops(64, kTokensEach) * 2;
  const std::int64_t rows = 64 * kTokensEach * 2;
  check_passes(facts, {{scores, values(192 + 64), rows}, {2 * scores, values(2 * 192 + 64), 2 * rows}, {}});
  CHECK(facts.input_bytes == values(192));
  CHECK(facts.output_bytes == values(64));
  CHECK(kept_bytes(facts) == Bytes{kTokens * 4 * 4});
  layer.padded = true;
  CHECK(kept_bytes(of(layer)) == Bytes{kTokens * 4 * 4, kSamples * 4});
  for (const MicrobatchShape slice : {MicrobatchShape{1, 8, 1, 0}, MicrobatchShape{1, 8, 0, 1}}) {
    CHECK_THROWS_AS(describe(layer, slice, kUnlike), Error);
  }
}

TEST_CASE("a cross projection makes queries of one value and keys and values of another") {
  const LayerFacts facts = of({.kind = LayerKind::kCrossProjection, .name = "x", .width = 16});
  CHECK(shapes(facts) == Shapes{{48, 16}, {48}});
  const double flops = product_flops(16, 48);
  check_passes(facts, {{flops, values(16 + 16 + 48) + weights_read(48 * 16 + 48), 0},
                       {flops, values(16 + 16 + 48) + weights_read(48 * 16), 0},
                       {flops, values(16 + 16 + 48) + gradients_added(48 * 16 + 48), 0}});
  CHECK(facts.output_bytes == values(48));
  CHECK(facts.from_bytes == values(16));
}

TEST_CASE("a mixture of experts does the work of the experts that a token reaches and holds all of them") {
  const LayerSpec layer{.kind = LayerKind::kMoe,
                        .name = "m",
                        .width = 16,
                        .hidden = 24,
                        .experts = 8,
                        .experts_per_token = 2,
                        .shared_experts = 1,
                        .bias = true};
  const LayerFacts facts = of(layer);
  CHECK(shapes(facts) == Shapes{{8, 16}, {9 * 24, 16}, {9 * 16, 24}, {9 * 24}, {9 * 16}});
  const std::int64_t parameters = 8 * 16 + 2 * 9 * 24 * 16 + 9 * 24 + 9 * 16;
  const double flops = product_flops(16, 8) + 3 * (product_flops(16, 24) + product_flops(24, 16));
  // Every one of three experts: a token copied and read, inner written and read, activated written and read, a result.
  const std::int64_t moved = values(16 + 16 + 3 * (16 + 24 + 24 + 24 + 24 + 16));
  check_passes(facts, {{flops, moved + weights_read(parameters), 0},
                       {flops, moved + values(3 * 24) + weights_read(parameters), 0},
                       {flops, values(3 * (16 + 24 + 24 + 16)) + gradients_added(parameters), 0}});
  CHECK(kept_bytes(facts) == Bytes{kTokens * 8 * 4, values(3 * 16), values(3 * 24), values(3 * 24), values(3 * 24)});
}

TEST_CASE("gated experts are twice as wide inside") {
  const LayerSpec layer{.kind = LayerKind::kMoe,
                        .name = "m",
                        .width = 16,
                        .hidden = 24,
                        .experts = 4,
                        .experts_per_token = 1,
                        .gated = true,
                        .bias = false};
  const LayerFacts facts = of(layer);
  CHECK(shapes(facts) == Shapes{{4, 16}, {4 * 48, 16}, {4 * 16, 24}});
  CHECK(facts.forward.flops == product_flops(16, 4) + product_flops(16, 48) + product_flops(24, 16));
}

TEST_CASE("experts behind a latent width read and make tokens of that width, shared ones of the full one") {
  LayerSpec layer{.kind = LayerKind::kMoe,
                  .name = "m",
                  .width = 16,
                  .hidden = 24,
                  .experts = 8,
                  .experts_per_token = 2,
                  .shared_experts = 3,
                  .latent_width = 4,
                  .bias = false};
  const LayerFacts facts = of(layer);
  CHECK(shapes(facts) == Shapes{{8, 16}, {4, 16}, {16, 4}, {8 * 24, 4}, {8 * 4, 24}, {3 * 24, 16}, {3 * 16, 24}});
  CHECK(facts.forward.flops == product_flops(16, 8) + product_flops(16, 4) + product_flops(4, 16) +
                                   2 * (product_flops(4, 24) + product_flops(24, 4)) +
                                   3 * (product_flops(16, 24) + product_flops(24, 16)));
  layer.shared_experts = 0;
  CHECK(shapes(of(layer)) == Shapes{{8, 16}, {4, 16}, {16, 4}, {8 * 24, 4}, {8 * 4, 24}});
}

TEST_CASE("a layer of Mamba-2 moves what its two products, its convolution and its scan read and write") {
  // 2 heads of 8 features, 1 group of 5 numbers that they remember: 16 features, 2 * 16 + 2 * 5 + 2 columns.
  const LayerFacts facts = of({.kind = LayerKind::kMamba,
                               .name = "m",
                               .width = 12,
                               .heads = 2,
                               .kernel = 4,
                               .groups = 1,
                               .state = 5,
                               .head_width = 8});
  CHECK(shapes(facts) == Shapes{{44, 12}, {26, 4}, {26}, {2}, {2}, {2}, {16}, {12, 16}});
  const std::int64_t parameters = 44 * 12 + 26 * 4 + 26 + 3 * 2 + 16 + 12 * 16;
  const double products = product_flops(12, 44) + product_flops(16, 12);
  // In chunks of 128: the lower half of the scores of a group and of their products with the features, and the states
  // of all features, made and read.
  const double scan = kTokens * (128.0 * 5 * 1 + 128.0 * 16 + 2 * 2 * 16.0 * 5);
  const std::int64_t moved = values(2 * 12 + 2 * 44 + 3 * 26 + 4 * 16);
  check_passes(facts, {{products + scan, moved + weights_read(parameters), 0},
                       {products + 2 * scan, 2 * moved + weights_read(parameters), 0},
                       {products, values(2 * 12 + 44 + 16) + gradients_added(parameters), 0}});
  CHECK(kept_bytes(facts) == Bytes{values(44), values(26), values(16), values(16), values(44)});
}

TEST_CASE("latent attention keeps its latents before and after their norms") {
  LayerSpec layer{.kind = LayerKind::kLatentAttention,
                  .name = "l",
                  .width = 32,
                  .heads = 2,
                  .query_rank = 6,
                  .key_rank = 10,
                  .head_width = 8,
                  .rotary_width = 4,
                  .value_width = 5};
  const LayerFacts facts = of(layer);
  // Queries and keys have 2 (8 + 4) columns, values 2 * 5.
  CHECK(shapes(facts) == Shapes{{6, 32}, {6}, {24, 6}, {14, 32}, {10}, {26, 10}, {32, 10}});
  const std::int64_t parameters = 6 * 32 + 6 + 24 * 6 + 14 * 32 + 10 + 26 * 10 + 32 * 10;
  const double projections = product_flops(32, 6) + product_flops(6, 24) + product_flops(32, 14) +
                             product_flops(10, 26) + product_flops(10, 32);
  const double scores = product_flops(24, kTokensEach) + product_flops(10, kTokensEach);
  const std::int64_t latents = 2 * (6 + 14);
  const std::int64_t heads = 24 + 24 + 10;
  const std::int64_t moved = values(2 * 32 + 2 * latents + 2 * heads + 2 * 10);
  check_passes(facts, {{projections + scores, moved + weights_read(parameters), 0},
                       {projections + 2 * scores, moved + values(heads) + weights_read(parameters), 0},
                       {projections, values(2 * 32 + latents + heads) + gradients_added(parameters), 0}});
  CHECK(kept_bytes(facts) == Bytes{values(latents), values(heads), kTokens * 2 * 4, values(10), values(heads)});
  layer.query_rank = 0;
  const LayerFacts direct = of(layer);
  CHECK(shapes(direct).front() == std::vector<std::int64_t>{24, 32});
  CHECK(direct.forward.flops ==
        facts.forward.flops - product_flops(32, 6) - product_flops(6, 24) + product_flops(32, 24));
}

TEST_CASE("an MLP moves its inner values before and after the activation") {
  LayerSpec layer{.kind = LayerKind::kMlp, .name = "m", .width = 16, .hidden = 24};
  const LayerFacts facts = of(layer);
  const std::int64_t parameters = 2 * 16 * 24 + 24 + 16;
  const double flops = product_flops(16, 24) + product_flops(24, 16);
  check_passes(facts, {{flops, values(16 + 24 + 24 + 24 + 24 + 16) + weights_read(parameters), 0},
                       {flops, values(16 + 3 * 24 + 2 * 24 + 16) + weights_read(parameters), 0},
                       {flops, values(16 + 24 + 24 + 16) + gradients_added(parameters), 0}});
  layer.gated = true;
  const LayerFacts gated = of(layer);
  CHECK(gated.forward.bytes_moved == values(2 * 16 + 2 * 48 + 2 * 24) + weights_read(48 * 16 + 48 + 16 * 24 + 16));
  CHECK(kept_bytes(gated) == Bytes{values(48), values(24), values(48)});
}

TEST_CASE("norms read their input once forward, twice backward with the gradient, and one or two statistics") {
  LayerSpec layer{.kind = LayerKind::kLayerNorm, .name = "n", .width = 16};
  const std::int64_t statistics = kTokens * 4;
  check_passes(of(layer), {{0, 2 * values(16) + 2 * statistics + weights_read(32), 0},
                           {0, 3 * values(16) + 2 * statistics + weights_read(16) + gradients_added(32), 0},
                           {}});
  layer.bias = false;
  CHECK(of(layer).parameter_count() == 16);
  layer.kind = LayerKind::kRmsNorm;
  layer.bias = true;
  check_passes(of(layer), {{0, 2 * values(16) + statistics + weights_read(16), 0},
                           {0, 3 * values(16) + statistics + weights_read(16) + gradients_added(16), 0},
                           {}});
  const Precision wide{.activation_bytes = 8, .weight_bytes = 8, .gradient_bytes = 8, .optimizer_bytes = 8};
  CHECK(describe(layer, {.samples = 1, .sequence = 10}, wide).stash.front().bytes == 80);
}

TEST_CASE("an embedding reads ids of four bytes and a row of every table for each token") {
  LayerSpec layer{.kind = LayerKind::kEmbedding, .name = "e", .width = 16, .vocabulary = 100, .positions = 128};
  const std::int64_t ids = kTokens * 4;
  check_passes(of(layer), {{0, 2 * ids + weights_read(2 * kTokens * 16) + values(16), 0},
                           {},
                           {0, ids + values(16) + gradients_added(2 * kTokens * 16), 0}});
  CHECK(of(layer).parameters[1].initial_deviation == 0.02);
  layer.positions = 0;
  check_passes(of(layer), {{0, 2 * ids + weights_read(kTokens * 16) + values(16), 0},
                           {},
                           {0, ids + values(16) + gradients_added(kTokens * 16), 0}});
  CHECK(of(layer).parameters.size() == 1);
  CHECK(of(layer).parameters[0].initial_deviation == 0.02);
  layer.sinusoidal = true;
  CHECK(of(layer).parameters[0].initial_deviation == 0.25);  // 1 / sqrt(16): rows scaled by sqrt(16) have 1
  layer.positions = 128;
  CHECK_THROWS_WITH_AS(of(layer), "layer 'e': expected learned or sinusoidal positions, not both", Error);
  CHECK_THROWS_WITH_AS(describe(layer, {.samples = 1, .sequence = 100, .before = 29}, kUnlike),
                       "layer 'e': positions (128) must be at least the sequence length (129)", Error);
}

TEST_CASE(
    "a head writes logits, reads them and writes their gradient; a module for a further token joins two rows first") {
  LayerSpec layer{.kind = LayerKind::kHead, .name = "h", .width = 16, .vocabulary = 100, .side_parameters = 7};
  const double flops = product_flops(16, 100);
  check_passes(of(layer), {{flops, values(16 + 3 * 100) + weights_read(1607) + kTokens * 4, 0},
                           {flops, values(16 + 100) + weights_read(1607), 0},
                           {flops, values(16 + 100) + gradients_added(1607), 0}});
  CHECK(shapes(of(layer)) == Shapes{{100, 16}, {7}});
  layer.side_parameters = 0;
  const LayerFacts head = of(layer);
  layer.kind = LayerKind::kFurtherToken;
  const LayerFacts further = of(layer);
  const std::int64_t own = 16 + 16 + 16 * 32;
  CHECK(shapes(further) == Shapes{{16}, {16}, {16, 32}});
  const double join = product_flops(32, 16);
  // Both rows and their norms, 2 * 16 + 2 * 16, and what is joined, 16.
  check_passes(
      further,
      {{head.forward.flops + join, head.forward.bytes_moved + values(5 * 16) + weights_read(own), 0},
       {head.input_grad.flops + join, head.input_grad.bytes_moved + values(5 * 16) + weights_read(own), 0},
       {head.weight_grad.flops + join, head.weight_grad.bytes_moved + values(5 * 16) + gradients_added(own), 0}});
  CHECK(kept_bytes(further) == Bytes{values(100), values(32)});
  CHECK(further.output_bytes == values(16));
  layer.kind = LayerKind::kClassifier;
  CHECK(shapes(of(layer)) == Shapes{{100, 16}, {100}});
  layer.bias = false;
  CHECK(shapes(of(layer)) == Shapes{{100, 16}});
}

TEST_CASE("a convolution is a product of patches, which lie in the workspace where a window is more than a pixel") {
  // 6 x 8 pixels of 2 numbers; windows of 3 x 3, every second one, one pixel added: 3 x 4 windows of 18 numbers.
  LayerSpec layer{.kind = LayerKind::kConvolution,
                  .name = "c",
                  .height = 6,
                  .columns = 8,
                  .channels = 2,
                  .filters = 5,
                  .kernel = 3,
                  .stride = 2,
                  .padding = 1};
  const LayerFacts facts = of(layer);
  CHECK(shapes(facts) == Shapes{{5, 18}, {5}});
  CHECK(facts.parameters[0].initial_deviation == std::sqrt(2.0 / 18));
  const double flops = product_flops(18, 5) * 12;
  const std::int64_t in = values(6 * 8 * 2);
  const std::int64_t out = values(3 * 4 * 5);
  // Patches of an image: 12 * 18 numbers of 2 bytes; 2^18 bytes hold those of 606 images, more than there are.
  const std::int64_t patches = kTokens * 12 * 18 * 2;
  check_passes(facts, {{flops, in + out + weights_read(95), patches},
                       {flops, in + out + weights_read(90), patches},
                       {flops, in + out + gradients_added(95), patches}});
  const LayerFacts many = describe(layer, {.samples = 1000, .sequence = 1}, kUnlike);
  CHECK(many.forward.workspace_bytes == (1 << 18) / (12 * 18 * 2) * (12 * 18 * 2));
  layer.height = layer.columns = 400;  // one image's patches are more than that
  CHECK(of(layer).forward.workspace_bytes == 200 * 200 * 18 * 2);
  layer = {.kind = LayerKind::kConvolution,
           .name = "c",
           .height = 4,
           .columns = 4,
           .channels = 2,
           .filters = 5,
           .kernel = 1,
           .stride = 1,
           .bias = false};
  CHECK(of(layer).forward.workspace_bytes == 0);
  layer.stride = 2;
  CHECK(of(layer).forward.workspace_bytes == kTokens * 4 * 2 * 2);
  layer.stride = 1;
  layer.padding = 1;
  CHECK(of(layer).forward.workspace_bytes == kTokens * 36 * 2 * 2);
}

TEST_CASE("norms of images read them once more for their statistics") {
  LayerSpec layer{.kind = LayerKind::kBatchNorm, .name = "n", .height = 4, .columns = 6, .channels = 8};
  const std::int64_t image = values(4 * 6 * 8);
  check_passes(of(layer), {{0, 3 * image + weights_read(16), 0}, {0, 5 * image + gradients_added(16), 2 * 8 * 2}, {}});
  CHECK(kept_bytes(of(layer)) == Bytes{8 * 4, 8 * 4});  // by channel
  layer.kind = LayerKind::kGroupNorm;
  layer.groups = 2;
  check_passes(of(layer), {{0, 3 * image + weights_read(16), 0}, {0, 5 * image + gradients_added(16), 0}, {}});
  CHECK(kept_bytes(of(layer)) == Bytes{kTokens * 2 * 4, kTokens * 2 * 4});  // by image and group
}

TEST_CASE("layers without parameters move what they read and write, and what tells the gradient where to go") {
  const LayerFacts relu = of({.kind = LayerKind::kRelu, .name = "r", .width = 9});
  const std::int64_t bits = kTokens * 9 / 8;  // 432 bytes, no bit left over
  check_passes(relu, {{0, 2 * values(9) + bits, 0}, {0, 2 * values(9) + bits, 0}, {}});
  CHECK(describe({.kind = LayerKind::kRelu, .name = "r", .width = 9}, {}, kUnlike).stash.front().bytes == 2);
  const LayerFacts largest = of(
      {.kind = LayerKind::kMaxPool, .name = "p", .height = 4, .columns = 6, .channels = 8, .kernel = 2, .stride = 2});
  const std::int64_t in = values(4 * 6 * 8);
  const std::int64_t out = values(2 * 3 * 8);
  check_passes(largest, {{0, in + out + out / 2, 0}, {0, in + out + out / 2, 0}, {}});  // a byte per output
  CHECK(kept_bytes(largest) == Bytes{out / 2});
  const LayerFacts mean = of({.kind = LayerKind::kAveragePool, .name = "p", .height = 4, .columns = 6, .channels = 8});
  check_passes(mean, {{0, in + values(8), 0}, {0, in + values(8), 0}, {}});
  const LayerFacts pixels = of({.kind = LayerKind::kPixels, .name = "p", .height = 4, .columns = 6, .channels = 8});
  check_passes(pixels, {{0, kTokens * 4 * 6 * 8 * 4 + in, 0}, {}, {}});
  const LayerFacts numbers = of({.kind = LayerKind::kValues, .name = "v", .width = 9});
  check_passes(numbers, {{0, kTokens * 9 * 8 + values(9), 0}, {}, {}});
  const LayerFacts error = of({.kind = LayerKind::kSquaredError, .name = "s", .width = 9});
  check_passes(error, {{0, 2 * values(9) + kTokens * 9 * 8, 0}, {0, 2 * values(9), 0}, {}});
  const LayerFacts sum = of({.kind = LayerKind::kAdd, .name = "s", .width = 9});
  check_passes(sum, {{0, 3 * values(9), 0}, {0, 3 * values(9), 0}, {}});
}

TEST_CASE("an adapter adds two thin products to every pass, and a frozen layer has no pass for weights") {
  LayerSpec layer{.kind = LayerKind::kLinear, .name = "l", .width = 16, .outputs = 24, .bias = false, .frozen = true};
  const LayerFacts frozen = of(layer);
  CHECK(frozen.weight_grad == PassFacts{});
  CHECK(frozen.input_last_use == LastUse::kForward);
  layer.lora = {.rank = 4, .targets = LoraTargets::kAll};
  const LayerFacts adapted = of(layer);
  const double thin = product_flops(16, 4) + product_flops(4, 24);
  const std::int64_t own = 4 * (16 + 24);
  // F reads x, writes and reads h, and adds to y. I reads dy, writes and reads dh, and adds to dx.
  CHECK(adapted.forward.flops - frozen.forward.flops == thin);
  CHECK(adapted.input_grad.flops - frozen.input_grad.flops == thin);
  CHECK(adapted.forward.bytes_moved - frozen.forward.bytes_moved == values(16 + 4 + 4 + 24 + 24) + weights_read(own));
  CHECK(adapted.input_grad.bytes_moved - frozen.input_grad.bytes_moved ==
        values(24 + 4 + 4 + 16 + 16) + weights_read(own));
  CHECK(adapted.weight_grad == PassFacts{thin, values(16 + 24 + 4 + 4) + gradients_added(own), 0});
  LayerSpec norm{.kind = LayerKind::kLayerNorm, .name = "n", .width = 16};
  const std::int64_t trained = of(norm).input_grad.bytes_moved;
  norm.frozen = true;
  CHECK(trained - of(norm).input_grad.bytes_moved == gradients_added(32));
}

}  // namespace plumb

TEST_SUITE_END();
