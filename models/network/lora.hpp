#pragma once

#include <string>
#include <vector>

#include "models/network/network.hpp"

namespace plumb {

/// A product of a layer that has an adapter.
struct AdaptedProduct {
  std::string prefix;  ///< prefix of its parameters in the layer: "qkv."; empty where the layer has one product
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;

  std::int64_t parameters(std::int64_t rank) const { return rank * (inputs + outputs); }
};

/// Returns the products of a layer that `lora` puts adapters beside, in the order of their weights; none where the
/// layer's kind or the targets leave it out.
std::vector<AdaptedProduct> adapted_products(const LayerSpec& layer, const Lora& lora);

/// Returns the network with all its parameters frozen and adapters beside its products. Throws `Error` where no layer
/// takes any, for a rank below 1 or above the narrower side of a product, and for an alpha that is not above 0.
Network with_adapters(Network network, const Lora& lora);

}  // namespace plumb
