#include "models/network/vocabulary_rows.hpp"

#include <algorithm>

#include "models/ground/error.hpp"

namespace plumb {

std::int64_t vocabulary_rows(const Network& network) {
  const auto head = std::ranges::find(network.layers, LayerKind::kHead, &LayerSpec::kind);
  return head == network.layers.end() ? 0 : head->vocabulary;
}

Network with_vocabulary_rows(Network network, std::int64_t rows) {
  const std::int64_t before = vocabulary_rows(network);
  if (before == 0) {
    throw Error("network '" + network.name + "': has no head with a vocabulary, expected a language model");
  }
  for (LayerSpec& layer : network.layers) {
    if (layer.vocabulary == before) layer.vocabulary = rows;
  }
  return network;
}

}  // namespace plumb
