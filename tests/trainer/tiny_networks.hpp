#pragma once

#include <string>
#include <vector>

#include "models/network/network.hpp"

namespace plumb {

inline LayerSpec residual(const std::string& name, std::vector<LayerSpec> body) {
  return {.kind = LayerKind::kResidual, .name = name, .width = body.front().width, .body = std::move(body)};
}

/// Embedding with positions, two blocks with layer norm, biases and GELU, tied head.
inline std::vector<LayerSpec> tiny_gpt() {
  std::vector<LayerSpec> layers{
      {.kind = LayerKind::kEmbedding, .name = "embedding", .width = 8, .vocabulary = 11, .positions = 6}};
  for (const std::string block : {"block0", "block1"}) {
    layers.push_back(residual(block + ".a",
                              {{.kind = LayerKind::kLayerNorm, .name = block + ".norm1", .width = 8},
                               {.kind = LayerKind::kAttention, .name = block + ".attention", .width = 8, .heads = 2}}));
    layers.push_back(
        residual(block + ".m", {{.kind = LayerKind::kLayerNorm, .name = block + ".norm2", .width = 8},
                                {.kind = LayerKind::kMlp, .name = block + ".mlp", .width = 8, .hidden = 12}}));
  }
  layers.push_back({.kind = LayerKind::kLayerNorm, .name = "norm", .width = 8});
  layers.push_back({.kind = LayerKind::kHead, .name = "head", .width = 8, .vocabulary = 11, .tied = true});
  return layers;
}

/// RMS norm, rotary grouped-query attention, SwiGLU, no biases, a head of its own.
inline std::vector<LayerSpec> tiny_llama() {
  return {
      {.kind = LayerKind::kEmbedding, .name = "embedding", .width = 8, .vocabulary = 11},
      residual("block0.a", {{.kind = LayerKind::kRmsNorm, .name = "block0.norm1", .width = 8},
                            {.kind = LayerKind::kAttention,
                             .name = "block0.attention",
                             .width = 8,
                             .heads = 4,
                             .kv_heads = 2,
                             .rotary = true,
                             .bias = false}}),
      residual(
          "block0.m",
          {{.kind = LayerKind::kRmsNorm, .name = "block0.norm2", .width = 8},
           {.kind = LayerKind::kMlp, .name = "block0.mlp", .width = 8, .hidden = 12, .gated = true, .bias = false}}),
      {.kind = LayerKind::kRmsNorm, .name = "norm", .width = 8},
      {.kind = LayerKind::kHead, .name = "head", .width = 8, .vocabulary = 11}};
}

}  // namespace plumb
