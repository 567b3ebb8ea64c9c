#include <cstring>

#include <doctest/doctest.h>

#include "tests/cuda_kernels/device_buffer.hpp"
#include "tests/cuda_kernels/layer_case.hpp"
#include "tests/support/error_message.hpp"
#include "trainer/cuda/layers/cuda_layer.hpp"
#include "trainer/cuda/layers/make_cuda_layer.hpp"

TEST_SUITE_BEGIN("cuda_kernels");

using namespace plumb;
using namespace plumb::kernels;

namespace {

bool same_bits(const LayerResults& a, const LayerResults& b) {
  for (const auto& [name, values] : a) {
    const std::vector<double>& other = b.at(name);
    const std::size_t bytes = values.size() * sizeof(double);
    if (bytes > 0 && std::memcmp(values.data(), other.data(), bytes) != 0) return false;
  }
  return true;
}

/// Holds the kernels of T against the CPU in double, and their bits in all ways to run them against each other.
template <class T>
void check(const LayerCase& of) {
  // Rounding of inputs, weights and everything kept in between: 2^-9 each for bf16.
  const double tolerance = sizeof(T) == 2 ? 1.5e-2 : 2e-5;
  const std::string kind = sizeof(T) == 2 ? "bf16" : "float";
  CAPTURE(kind);
  CAPTURE(of.spec.name);
  CAPTURE(of.spec.width);
  CAPTURE(of.shape.sequence);
  CAPTURE(of.misaligned);
  take_way(0);
  const LayerResults results = run_on_device<T>(of);
  for (const auto& [name, expected] : run_on_cpu(of)) {
    CAPTURE(name);
    CHECK(distance(results.at(name), expected) < tolerance);
  }
  for (int way = 1; way < ways(); ++way) {
    take_way(way);
    CHECK(same_bits(run_on_device<T>(of), results));
  }
  take_way(0);
}

void check_both(const LayerCase& of) {
  check<float>(of);
  check<BFloat16>(of);
}

}  // namespace

TEST_CASE("norms equal the CPU's, with packs and without, fused with additions or not") {
  for (const LayerKind kind : {LayerKind::kLayerNorm, LayerKind::kRmsNorm}) {
    for (const std::int64_t width : {5, 64, 264}) {
      for (const bool adds : {false, true}) {
        const LayerSpec spec{.kind = kind, .name = kind == LayerKind::kRmsNorm ? "rms" : "layer", .width = width};
        check_both({.spec = spec, .shape = {.samples = 3, .sequence = 13}, .adds = adds});
      }
    }
  }
}

TEST_CASE("norms have the epsilon of their layer") {
  LayerSpec spec{.kind = LayerKind::kLayerNorm, .name = "norm", .width = 12};
  spec.epsilon = 0.5;
  check_both({.spec = spec, .shape = {.samples = 2, .sequence = 5}});
  spec.kind = LayerKind::kRmsNorm;
  check_both({.spec = spec, .shape = {.samples = 2, .sequence = 5}});
}

TEST_CASE("rotary attention turns by the base and the scaling of its layer") {
  LayerSpec spec{.kind = LayerKind::kAttention, .name = "rotary", .width = 32, .heads = 2};
  spec.rotary = true;
  spec.turns = {.base = 100, .factor = 8, .low = 1, .high = 4, .original = 128};
  check_both({.spec = spec, .shape = {1, 40}});
}

TEST_CASE("arithmetic that no kernel has is refused by the layer's name") {
  const auto message = [](const LayerSpec& spec) {
    return plumb::testing::error_message([&] { make_cuda_layer<float>(spec, {1, 4}); });
  };
  LayerSpec mlp{.kind = LayerKind::kMlp, .name = "mlp", .width = 8, .hidden = 8};
  mlp.activation = plumb::Activation::kGeluTanh;
  CHECK(message(mlp).empty());
  mlp.activation = plumb::Activation::kRelu;
  CHECK(message(mlp) ==
        "layer 'mlp': activation relu has no kernel, only gelu_tanh has one, on CUDA; expected the back end cpu");
  LayerSpec attention{.kind = LayerKind::kAttention, .name = "attention", .width = 8, .heads = 2};
  attention.window = 3;
  CHECK(message(attention) ==
        "layer 'attention': a window of 3 tokens has no kernel on CUDA; expected the back end cpu");
}

TEST_CASE("sums over many rows keep to their order") {
  const LayerSpec spec{.kind = LayerKind::kLayerNorm, .name = "norm", .width = 12};
  check_both({.spec = spec, .shape = {.samples = 1, .sequence = 150}});
}

TEST_CASE("the embedding equals the CPU's, ids that come again included") {
  LayerSpec spec{.kind = LayerKind::kEmbedding, .name = "learned", .width = 8, .vocabulary = 70, .positions = 40};
  check_both({.spec = spec, .shape = {.samples = 7, .sequence = 40}});
  spec.vocabulary = 3;
  spec.positions = 0;
  spec.width = 5;
  check_both({.spec = spec, .shape = {.samples = 2, .sequence = 150}});
  spec.sinusoidal = true;
  spec.name = "sinusoidal";
  spec.width = 16;
  check_both({.spec = spec, .shape = {.samples = 2, .sequence = 9}});
}

TEST_CASE("MLPs equal the CPU's, GELU inside the products or after them") {
  LayerSpec spec{.kind = LayerKind::kMlp, .name = "gelu", .width = 16, .hidden = 24};
  for (const bool fuses : {false, true}) check_both({.spec = spec, .shape = {2, 9}, .fuses_gelu = fuses});
  spec.gated = true;
  spec.name = "swiglu";
  check_both({.spec = spec, .shape = {2, 9}});
  spec.bias = false;
  spec.hidden = 11;
  check_both({.spec = spec, .shape = {1, 7}});
}

TEST_CASE("adapters beside products equal the CPU's, whatever adds GELU") {
  LayerSpec mlp{.kind = LayerKind::kMlp, .name = "mlp", .width = 16, .hidden = 24};
  LayerSpec attention{.kind = LayerKind::kAttention, .name = "attention", .width = 16, .heads = 2, .kv_heads = 1};
  LayerSpec linear{.kind = LayerKind::kLinear, .name = "linear", .width = 16, .outputs = 7};
  attention.rotary = true;
  attention.bias = false;
  for (LayerSpec* spec : {&mlp, &attention, &linear}) {
    spec->frozen = true;
    for (const LoraTargets targets : {LoraTargets::kQkv, LoraTargets::kAll}) {
      spec->lora = {.rank = 3, .alpha = 1, .targets = targets};  // above 1, scores of bf16 are too rough
      for (const bool fuses : {false, true}) check_both({.spec = *spec, .shape = {2, 9}, .fuses_gelu = fuses});
    }
  }
  mlp.gated = true;
  check_both({.spec = mlp, .shape = {1, 7}, .misaligned = true});
}

TEST_CASE("linear layers and cross projections equal the CPU's") {
  const LayerSpec linear{.kind = LayerKind::kLinear, .name = "linear", .width = 16, .outputs = 7};
  check_both({.spec = linear, .shape = {2, 9}});
  const LayerSpec cross{.kind = LayerKind::kCrossProjection, .name = "cross", .width = 8};
  check_both({.spec = cross, .shape = {2, 9}});
}

TEST_CASE("attention equals the CPU's for widths of a head that the matrix units have and have not") {
  LayerSpec spec{.kind = LayerKind::kAttention, .name = "attention", .width = 32, .heads = 2};
  for (const std::int64_t sequence : {1, 17}) check_both({.spec = spec, .shape = {2, sequence}});
  spec.width = 12;  // not in packs
  check_both({.spec = spec, .shape = {1, 70}});
  spec.heads = 1;
  spec.width = 40;  // of 64
  check_both({.spec = spec, .shape = {1, 66}});
  spec.width = 72;  // of 128
  check_both({.spec = spec, .shape = {1, 66}});
  spec.width = 64;
  check_both({.spec = spec, .shape = {1, 140}});  // tiles that are seen as a whole, in part and not at all
}

TEST_CASE("attention over all keys, in groups and rotary equals the CPU's") {
  LayerSpec spec{.kind = LayerKind::kAttention, .name = "all keys", .width = 16, .heads = 2, .kv_heads = 1};
  spec.causal = false;
  check_both({.spec = spec, .shape = {1, 70}});
  spec.causal = true;
  spec.rotary = true;
  spec.bias = false;
  spec.name = "rotary";
  check_both({.spec = spec, .shape = {2, 35}});
  check_both({.spec = spec, .shape = {1, 130}});
  spec.qkv_bias = true;
  spec.name = "bias of queries, keys and values";
  check_both({.spec = spec, .shape = {2, 9}});
}

TEST_CASE("heads of 64 and 128 numbers equal the CPU's, of one query, more than a tile of them, and many tiles") {
  LayerSpec spec{.kind = LayerKind::kAttention, .name = "heads", .width = 64, .heads = 1};
  for (const std::int64_t width : {64, 128}) {
    spec.width = width;
    for (const std::int64_t sequence : {1, 65}) check_both({.spec = spec, .shape = {1, sequence}});
    if (on_gpu()) check_both({.spec = spec, .shape = {1, 1024}});  // for the emulation, minutes
  }
}

TEST_CASE("attention on sequence slices reads the keys of earlier ones and adds to their gradients") {
  LayerSpec spec{.kind = LayerKind::kAttention, .name = "slices", .width = 16, .heads = 2, .kv_heads = 1};
  spec.rotary = true;
  check_both({.spec = spec, .shape = {.samples = 2, .sequence = 20, .before = 75, .after = 3}, .earlier = {70, 5}});
  check_both({.spec = spec, .shape = {.samples = 1, .sequence = 9, .before = 6}, .earlier = {6}});
  // The first query of a tile sees all but the last of a warp's keys.
  check_both({.spec = spec, .shape = {.samples = 1, .sequence = 64, .before = 14}, .earlier = {14}});
}

TEST_CASE("attention of given queries does not see padding") {
  LayerSpec spec{.kind = LayerKind::kAttentionCore, .name = "core", .width = 16, .heads = 2};
  spec.padded = true;
  for (const bool causal : {false, true}) {
    spec.causal = causal;
    for (const std::int64_t sequence : {20, 66, 67}) check_both({.spec = spec, .shape = {2, sequence}});
  }
}

TEST_CASE("softmax and cross-entropy equal the CPU's for odd vocabularies, rows without a target included") {
  LayerSpec head{.kind = LayerKind::kHead, .name = "head", .width = 8, .vocabulary = 1037};
  check_both({.spec = head, .shape = {1, 11}});
  head.vocabulary = 3;
  check_both({.spec = head, .shape = {2, 9}});
  for (const std::int64_t vocabulary : {3, 131, 1037}) {  // in columns: tokens are a multiple of 8
    head.vocabulary = vocabulary;
    check_both({.spec = head, .shape = {1, 8}});
    check_both({.spec = head, .shape = {3, 24}});
  }
  const LayerSpec classifier{.kind = LayerKind::kClassifier, .name = "classifier", .width = 8, .vocabulary = 10};
  check_both({.spec = classifier, .shape = {7, 1}});
}

TEST_CASE("a kind of layer without arithmetic on CUDA is refused with those that have it") {
  const LayerSpec experts{.kind = LayerKind::kMoe, .name = "block0.moe", .width = 8, .hidden = 16, .experts = 4};
  const std::string said = testing::error_message([&] { make_cuda_layer<float>(experts, {1, 2}); });
  CHECK(said.starts_with("layer 'block0.moe': moe has no arithmetic on CUDA; expected one of embedding, layer_norm, "));
  CHECK(said.ends_with(", attention_core"));
}

TEST_CASE("values and their squared error equal the CPU's") {
  check_both({.spec = {.kind = LayerKind::kValues, .name = "values", .width = 5}, .shape = {9, 1}});
  check_both({.spec = {.kind = LayerKind::kSquaredError, .name = "error", .width = 5}, .shape = {9, 1}});
}

namespace {

LayerSpec image_layer(LayerKind kind, std::string name) {
  return {.kind = kind, .name = std::move(name), .height = 6, .columns = 5, .channels = 8};
}

}  // namespace

TEST_CASE("convolutions equal the CPU's") {
  LayerSpec spec = image_layer(LayerKind::kConvolution, "convolution");
  spec.filters = 6;
  spec.kernel = 3;
  spec.stride = 2;
  spec.padding = 1;
  check_both({.spec = spec, .shape = {3, 1}});
  spec.channels = 3;
  spec.stride = 1;
  check_both({.spec = spec, .shape = {2, 1}});
  spec.kernel = 1;
  spec.padding = 0;
  check_both({.spec = spec, .shape = {2, 1}});
}

TEST_CASE("batch norm and group norm equal the CPU's") {
  check_both({.spec = image_layer(LayerKind::kBatchNorm, "batch"), .shape = {5, 1}});
  LayerSpec group = image_layer(LayerKind::kGroupNorm, "group");
  group.groups = 4;
  check_both({.spec = group, .shape = {5, 1}});
}

TEST_CASE("pools, the rectifier and pixels equal the CPU's") {
  LayerSpec pool = image_layer(LayerKind::kMaxPool, "largest");
  pool.kernel = 3;
  pool.stride = 2;
  pool.padding = 1;
  check_both({.spec = pool, .shape = {3, 1}});
  pool.kind = LayerKind::kAveragePool;
  pool.padding = 0;
  check_both({.spec = pool, .shape = {3, 1}});
  pool.kernel = 0;
  check_both({.spec = pool, .shape = {3, 1}});
  check_both({.spec = {.kind = LayerKind::kRelu, .name = "relu", .width = 13}, .shape = {3, 1}});
  check_both({.spec = image_layer(LayerKind::kPixels, "pixels"), .shape = {2, 1}});
}

TEST_CASE("layers equal the CPU's where nothing begins at a multiple of 16 bytes") {
  const auto check_misaligned = [](const LayerSpec& spec, const MicrobatchShape& shape, bool adds = false) {
    check_both({.spec = spec, .shape = shape, .adds = adds, .misaligned = true});
  };
  for (const bool adds : {false, true}) {
    check_misaligned({.kind = LayerKind::kLayerNorm, .name = "norm", .width = 64}, {1, 9}, adds);
  }
  check_misaligned({.kind = LayerKind::kEmbedding, .name = "ids", .width = 16, .vocabulary = 7, .positions = 9},
                   {2, 9});
  LayerSpec mlp{.kind = LayerKind::kMlp, .name = "mlp", .width = 16, .hidden = 24};
  check_misaligned(mlp, {1, 9});
  mlp.gated = true;
  check_misaligned(mlp, {1, 9});
  check_misaligned({.kind = LayerKind::kAttention, .name = "attention", .width = 32, .heads = 2}, {1, 70});
  check_misaligned({.kind = LayerKind::kAttentionCore, .name = "core", .width = 16, .heads = 2}, {1, 9});
  check_misaligned({.kind = LayerKind::kHead, .name = "rows", .width = 8, .vocabulary = 1040}, {1, 3});
  check_misaligned({.kind = LayerKind::kHead, .name = "columns", .width = 8, .vocabulary = 131}, {1, 8});
  LayerSpec convolution = image_layer(LayerKind::kConvolution, "convolution");
  convolution.filters = 8;
  convolution.stride = 1;
  convolution.kernel = 3;
  convolution.padding = 1;
  check_misaligned(convolution, {2, 1});
  check_misaligned(image_layer(LayerKind::kBatchNorm, "batch"), {2, 1});
}

TEST_SUITE_END();
