#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "models/network/network.hpp"

namespace plumb::testing {

/// A chain of so many layers; `figures(k)` are those of layer k, asked for in order.
template <class Figures>
Network profiled_network(std::string name, std::size_t layers, Figures&& figures) {
  Network network;
  network.name = std::move(name);
  network.sequence = 1;
  for (std::size_t k = 0; k < layers; ++k) {
    LayerSpec layer{.kind = LayerKind::kProfiled, .name = "layer" + std::to_string(k)};
    layer.profiled = figures(k);
    network.layers.push_back(std::move(layer));
  }
  return network;
}

}  // namespace plumb::testing
