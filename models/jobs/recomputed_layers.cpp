#include "models/jobs/recomputed_layers.hpp"

#include <algorithm>

namespace plumb {
namespace {

bool is_residual(const LayerSpec& layer) { return layer.kind == LayerKind::kResidual; }

bool attends(const LayerSpec& layer) {
  return std::ranges::any_of(layer.body, [](const LayerSpec& inner) {
    return inner.kind == LayerKind::kAttention || inner.kind == LayerKind::kLatentAttention ||
           (inner.kind == LayerKind::kMamba && inner.delta);
  });
}

}  // namespace

bool runs_again_with_previous(std::span<const LayerSpec> layers, std::size_t at) {
  if (at == 0 || !is_residual(layers[at]) || !is_residual(layers[at - 1])) return false;
  return attends(layers[at - 1]) && !attends(layers[at]);
}

std::int32_t layers_to_recompute(std::span<const LayerSpec> layers) {
  std::int32_t count = 0;
  for (std::size_t at = 0; at < layers.size(); ++at) {
    if (is_residual(layers[at]) && !runs_again_with_previous(layers, at)) ++count;
  }
  return count;
}

std::size_t leading_layers(std::span<const LayerSpec> layers, std::int32_t count) {
  if (count <= 0) return 0;
  std::size_t at = 0;
  for (std::int32_t begun = 0; at < layers.size(); ++at) {
    if (!is_residual(layers[at]) || runs_again_with_previous(layers, at)) continue;
    if (++begun > count) break;
  }
  return at;
}

}  // namespace plumb
