#pragma once

#include <cstdint>

#include "models/network/network.hpp"

namespace plumb {

/// Reads the data instead of another layer's output.
constexpr bool begins_network(LayerKind kind) {
  return kind == LayerKind::kEmbedding || kind == LayerKind::kValues || kind == LayerKind::kPixels;
}
/// Makes logits, and a loss of them.
constexpr bool makes_logits(LayerKind kind) { return kind == LayerKind::kHead || kind == LayerKind::kClassifier; }
/// Makes the loss instead of an output.
constexpr bool ends_network(LayerKind kind) { return makes_logits(kind) || kind == LayerKind::kSquaredError; }

/// Reads a second value, named by `from`.
constexpr bool reads_two(LayerKind kind) { return kind == LayerKind::kAdd || kind == LayerKind::kCrossProjection; }
/// Reads an image: a row per image, pixel after pixel from the top left, the channels of a pixel together.
constexpr bool reads_image(LayerKind kind) {
  return (kind >= LayerKind::kConvolution && kind <= LayerKind::kGroupNorm) || kind == LayerKind::kMaxPool ||
         kind == LayerKind::kAveragePool;
}

/// Sides of an image and numbers per pixel.
struct ImageShape {
  std::int64_t height = 0;
  std::int64_t columns = 0;
  std::int64_t channels = 0;

  std::int64_t pixels() const { return height * columns; }
  std::int64_t features() const { return pixels() * channels; }
  friend bool operator==(const ImageShape&, const ImageShape&) = default;
};

/// Returns what an image layer reads and makes.
ImageShape input_image(const LayerSpec& layer);
ImageShape output_image(const LayerSpec& layer);

/// Columns in attention: of a head, of all queries, of these and all keys, of what all heads make, of queries, keys and
/// values side by side, and of the product that makes these and the gate.
std::int64_t head_width(const LayerSpec& layer);
std::int64_t queries_width(const LayerSpec& layer);
std::int64_t queries_and_keys(const LayerSpec& layer);
std::int64_t attended_width(const LayerSpec& layer);
std::int64_t qkv_width(const LayerSpec& layer);
std::int64_t attention_columns(const LayerSpec& layer);
/// How many tokens a token of attention sees at most, in a sequence of that length.
std::int64_t seen_tokens(const LayerSpec& layer, std::int64_t sequence);

/// Returns the sizes of Mamba: features inside; columns of its first product (gate, features, what writes and reads the
/// state, steps; with the delta rule also strengths of writing), of which the convolution reads the second and third;
/// columns of the products behind `gate_rank` features.
std::int64_t mamba_inner(const LayerSpec& layer);
std::int64_t mamba_projected(const LayerSpec& layer);
std::int64_t mamba_convolved(const LayerSpec& layer);
std::int64_t mamba_gates(const LayerSpec& layer);
/// FLOPs per token of the scan of a Mamba layer in chunks of `kMambaChunk` tokens: scores inside a chunk (the lower
/// half), their products with the features, and the states that chunks hand on (Dao and Gu 2024, section 6). With the
/// delta rule chunks have `kDeltaChunk` tokens; what they write is solved for first, which takes as many scores of keys
/// with keys, two products with the triangle that comes out, and one more with the state (Yang et al. 2024, section 3).
inline constexpr std::int64_t kMambaChunk = 128;
inline constexpr std::int64_t kDeltaChunk = 64;
double scan_flops(const LayerSpec& layer);
/// Features of a token on its way through experts, and the inner width of all shared experts.
std::int64_t expert_width(const LayerSpec& layer);
std::int64_t shared_width(const LayerSpec& layer);

/// What `Activation::kUsual` stands for is resolved: the activation of an MLP.
Activation activation_of(const LayerSpec& layer);

/// Reads streams of the data, in whatever stage it is.
bool reads_data(const LayerSpec& layer);

/// Features per token of what a layer reads and makes; 0: not known (profiled), or nothing.
std::int64_t input_width(const LayerSpec& layer);
std::int64_t output_width(const LayerSpec& layer);

}  // namespace plumb
