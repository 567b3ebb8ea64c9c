#include "models/network/lora.hpp"

#include <algorithm>

#include "models/ground/error.hpp"
#include "models/network/layer_shape.hpp"

namespace plumb {
namespace {

/// Returns how many products got an adapter.
std::size_t adapt(std::vector<LayerSpec>& layers, const Lora& lora) {
  std::size_t adapted = 0;
  for (LayerSpec& layer : layers) {
    layer.frozen = true;
    adapted += adapt(layer.body, lora) + adapt(layer.shortcut, lora);
    const std::vector<AdaptedProduct> products = adapted_products(layer, lora);
    if (products.empty()) continue;
    for (const AdaptedProduct& product : products) {
      const std::int64_t most = std::min(product.inputs, product.outputs);
      if (lora.rank <= most) continue;
      throw Error("layer '" + layer.name + "': a rank of adapters of " + std::to_string(lora.rank) +
                  "; expected at most " + std::to_string(most) + ", the narrower side of the product beside it");
    }
    layer.lora = lora;
    adapted += products.size();
  }
  return adapted;
}

}  // namespace

std::vector<AdaptedProduct> adapted_products(const LayerSpec& layer, const Lora& lora) {
  if (lora.rank == 0) return {};
  const bool all = lora.targets == LoraTargets::kAll;
  if (layer.kind == LayerKind::kAttention) {
    std::vector<AdaptedProduct> products{{"qkv.", layer.width, qkv_width(layer)}};
    if (all) products.push_back({"out.", queries_width(layer), layer.width});
    return products;
  }
  if (!all) return {};
  if (layer.kind == LayerKind::kLinear) return {{"", layer.width, layer.outputs}};
  if (layer.kind != LayerKind::kMlp) return {};
  return {{"in.", layer.width, layer.gated ? 2 * layer.hidden : layer.hidden}, {"out.", layer.hidden, layer.width}};
}

Network with_adapters(Network network, const Lora& lora) {
  const std::string where = "network '" + network.name + "': ";
  if (lora.rank < 1)
    throw Error(where + "a rank of adapters of " + std::to_string(lora.rank) + "; expected at least 1");
  if (!(lora.alpha > 0)) throw Error(where + "expected an alpha of its adapters above 0");
  if (adapt(network.layers, lora) > 0) return network;
  const bool all = lora.targets == LoraTargets::kAll;
  throw Error(where + (all ? "has no attention, MLP or linear layer, so that nothing would be trained; expected one "
                             "that adapters can stand beside"
                           : "makes no queries, keys and values, so that nothing would be trained; expected a network "
                             "with attention, or adapters of all products"));
}

}  // namespace plumb
