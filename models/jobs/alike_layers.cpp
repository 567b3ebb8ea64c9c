#include "models/jobs/alike_layers.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace plumb {
namespace {

LayerSpec nameless(LayerSpec layer) {
  layer.name.clear();
  for (LayerSpec& inner : layer.body) inner = nameless(std::move(inner));
  for (LayerSpec& inner : layer.shortcut) inner = nameless(std::move(inner));
  return layer;
}

}  // namespace

std::vector<std::int32_t> first_alike(std::span<const LayerSpec> layers) {
  std::vector<std::int32_t> alike(layers.size());
  std::iota(alike.begin(), alike.end(), 0);
  const auto says = [](const LayerSpec& layer) { return !layer.input.empty() || !layer.from.empty(); };
  if (std::ranges::any_of(layers, says)) return alike;
  std::vector<std::pair<LayerSpec, std::int32_t>> kinds;
  for (std::size_t k = 0; k < layers.size(); ++k) {
    LayerSpec plain = nameless(layers[k]);
    const auto known = std::ranges::find(kinds, plain, &std::pair<LayerSpec, std::int32_t>::first);
    if (known != kinds.end()) {
      alike[k] = known->second;
    } else {
      kinds.emplace_back(std::move(plain), alike[k]);
    }
  }
  return alike;
}

}  // namespace plumb
