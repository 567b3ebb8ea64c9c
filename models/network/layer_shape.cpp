#include "models/network/layer_shape.hpp"

#include <algorithm>

namespace plumb {

ImageShape input_image(const LayerSpec& layer) { return {layer.height, layer.columns, layer.channels}; }

ImageShape output_image(const LayerSpec& layer) {
  ImageShape image = input_image(layer);
  const bool slides = layer.kind == LayerKind::kConvolution || layer.kind == LayerKind::kMaxPool ||
                      layer.kind == LayerKind::kAveragePool;
  if (!slides) return image;
  if (layer.kernel == 0) return {1, 1, image.channels};
  image.height = (layer.height + 2 * layer.padding - layer.kernel) / layer.stride + 1;
  image.columns = (layer.columns + 2 * layer.padding - layer.kernel) / layer.stride + 1;
  if (layer.kind == LayerKind::kConvolution) image.channels = layer.filters;
  return image;
}

Activation activation_of(const LayerSpec& layer) {
  if (layer.activation != Activation::kUsual) return layer.activation;
  return layer.gated ? Activation::kSilu : Activation::kGeluTanh;
}

std::int64_t head_width(const LayerSpec& layer) {
  return layer.head_width > 0 ? layer.head_width : layer.width / layer.heads;
}

std::int64_t queries_width(const LayerSpec& layer) { return layer.heads * head_width(layer); }

std::int64_t queries_and_keys(const LayerSpec& layer) {
  const std::int64_t kv_heads = layer.kv_heads == 0 ? layer.heads : layer.kv_heads;
  return queries_width(layer) + head_width(layer) * kv_heads;
}

std::int64_t attended_width(const LayerSpec& layer) {
  return layer.value_width > 0 ? layer.heads * layer.value_width : queries_width(layer);
}

std::int64_t qkv_width(const LayerSpec& layer) {
  const std::int64_t kv_heads = layer.kv_heads == 0 ? layer.heads : layer.kv_heads;
  const std::int64_t value = layer.value_width > 0 ? layer.value_width : head_width(layer);
  return queries_width(layer) + (head_width(layer) + value) * kv_heads;
}

std::int64_t attention_columns(const LayerSpec& layer) {
  return qkv_width(layer) + (layer.gated ? attended_width(layer) : 0);
}

std::int64_t seen_tokens(const LayerSpec& layer, std::int64_t sequence) {
  std::int64_t seen = sequence;
  for (const std::int64_t most : {layer.window, layer.index_keys}) {
    if (most > 0) seen = std::min(seen, most);
  }
  return seen;
}

std::int64_t mamba_inner(const LayerSpec& layer) { return layer.heads * layer.head_width; }

std::int64_t mamba_projected(const LayerSpec& layer) {
  if (layer.state == 0) return 3 * mamba_inner(layer);  // what is convolved, and a gate before and after it
  const std::int64_t gate = layer.gate_rank > 0 ? 0 : mamba_inner(layer);
  const std::int64_t steps = layer.gate_rank > 0 || layer.fixed_decay ? 0 : layer.heads;
  const std::int64_t strengths = layer.delta ? layer.heads : 0;
  return mamba_inner(layer) + gate + 2 * layer.groups * layer.state + steps + strengths;
}

std::int64_t mamba_convolved(const LayerSpec& layer) { return mamba_inner(layer) + 2 * layer.groups * layer.state; }

std::int64_t mamba_gates(const LayerSpec& layer) {
  return layer.gate_rank > 0 ? layer.groups * layer.state + mamba_inner(layer) : 0;
}

double scan_flops(const LayerSpec& layer) {
  if (layer.delta) {
    const auto key = static_cast<double>(layer.state);
    const auto value = static_cast<double>(layer.head_width);
    const auto part = static_cast<double>(kDeltaChunk);
    return static_cast<double>(layer.heads) * (part * (3 * key + 2 * value) + 6 * key * value);
  }
  const auto chunk = static_cast<double>(kMambaChunk);
  const auto state = static_cast<double>(layer.state);
  const double scores = chunk * state * static_cast<double>(layer.groups);
  const double inside = chunk * static_cast<double>(mamba_inner(layer));
  const double between = 4 * state * static_cast<double>(mamba_inner(layer));
  return scores + inside + between;
}

std::int64_t expert_width(const LayerSpec& layer) { return layer.latent_width > 0 ? layer.latent_width : layer.width; }

std::int64_t shared_width(const LayerSpec& layer) {
  return layer.shared_hidden > 0 ? layer.shared_hidden : layer.shared_experts * layer.hidden;
}

bool reads_data(const LayerSpec& layer) {
  return begins_network(layer.kind) || ends_network(layer.kind) || layer.padded;
}

std::int64_t input_width(const LayerSpec& layer) {
  if (begins_network(layer.kind) || layer.kind == LayerKind::kProfiled) return 0;
  if (reads_image(layer.kind)) return input_image(layer).features();
  if (layer.kind == LayerKind::kResidual) return layer.body.empty() ? 0 : input_width(layer.body.front());
  return layer.kind == LayerKind::kAttentionCore ? qkv_width(layer) : layer.width;
}

std::int64_t output_width(const LayerSpec& layer) {
  switch (layer.kind) {
    case LayerKind::kLinear:
      return layer.outputs;
    case LayerKind::kResidual:
      return layer.body.empty() ? 0 : output_width(layer.body.back());
    case LayerKind::kCrossProjection:
      return 3 * layer.width;
    case LayerKind::kPixels:
    case LayerKind::kConvolution:
    case LayerKind::kBatchNorm:
    case LayerKind::kGroupNorm:
    case LayerKind::kMaxPool:
    case LayerKind::kAveragePool:
      return output_image(layer).features();
    default:
      return ends_network(layer.kind) || layer.kind == LayerKind::kProfiled ? 0 : layer.width;
  }
}

}  // namespace plumb
