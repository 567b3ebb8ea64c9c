#include "models/network_check.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "models/error.hpp"

namespace plumb {
namespace {

[[noreturn]] void fail(const LayerSpec& layer, const std::string& what) {
  throw Error("layer '" + layer.name + "': " + what);
}

void check_heads(const LayerSpec& layer) {
  const std::int64_t kv_heads = layer.kv_heads == 0 ? layer.heads : layer.kv_heads;
  if (layer.heads < 1 || layer.width % layer.heads != 0) {
    fail(layer, "heads (" + std::to_string(layer.heads) + ") must divide width (" + std::to_string(layer.width) + ")");
  }
  if (kv_heads < 1 || layer.heads % kv_heads != 0) {
    fail(layer, "kv_heads (" + std::to_string(kv_heads) + ") must divide heads (" + std::to_string(layer.heads) + ")");
  }
  if (layer.rotary && (layer.width / layer.heads) % 2 != 0) {
    fail(layer, "rotary needs an even width per head, found " + std::to_string(layer.width / layer.heads));
  }
}

/// Walks a chain with the width that flows through it (0: not known).
class ChainCheck {
 public:
  void chain(const std::vector<LayerSpec>& layers, bool outermost) {
    for (std::size_t k = 0; k < layers.size(); ++k) {
      const LayerSpec& layer = layers[k];
      if (!names_.insert(layer.name).second) fail(layer, "the name is used twice");
      if (begins_network(layer.kind) && !(outermost && k == 0)) {
        fail(layer, "an embedding must be the first layer of the network");
      }
      if (ends_network(layer.kind) && !(outermost && k + 1 == layers.size())) {
        fail(layer, "a head must be the last layer of the network");
      }
      one(layer);
    }
  }

 private:
  void one(const LayerSpec& layer) {
    if (layer.kind == LayerKind::kResidual) return residual(layer);
    if (layer.kind == LayerKind::kProfiled) {
      width_ = 0;
      return;
    }
    if (layer.kind == LayerKind::kAttention) check_heads(layer);
    if (!begins_network(layer.kind) && width_ != 0 && width_ != layer.width) {
      fail(layer,
           "width is " + std::to_string(layer.width) + ", but the layer before it makes " + std::to_string(width_));
    }
    width_ = layer.kind == LayerKind::kLinear ? layer.outputs : layer.width;
  }

  void residual(const LayerSpec& layer) {
    if (layer.body.empty()) fail(layer, "a residual needs at least one layer in its body");
    const LayerSpec* first = &layer.body.front();
    while (first->kind == LayerKind::kResidual && !first->body.empty()) first = &first->body.front();
    if (first->kind == LayerKind::kProfiled) fail(layer, "a profiled layer cannot stand in a residual");
    const std::int64_t in = first->width;
    chain(layer.body, false);
    if (width_ != in) {
      fail(layer, "its body makes width " + std::to_string(width_) + " from width " + std::to_string(in));
    }
  }

  std::int64_t width_ = 0;
  std::set<std::string_view> names_;
};

void check_tied_head(const Network& network) {
  const LayerSpec& head = network.layers.back();
  if (head.kind != LayerKind::kHead || !head.tied) return;
  const LayerSpec& embedding = network.layers.front();
  if (embedding.kind != LayerKind::kEmbedding) fail(head, "is tied, but the network does not begin with an embedding");
  if (embedding.vocabulary != head.vocabulary || embedding.width != head.width) {
    fail(head, "is tied, but its vocabulary and width are not those of '" + embedding.name + "'");
  }
}

/// An upper bound of the numbers of one layer that grow with the microbatch.
double largest_size(const LayerSpec& layer, const MicrobatchShape& shape) {
  const double tokens = static_cast<double>(shape.samples) * static_cast<double>(shape.sequence);
  double largest = tokens * static_cast<double>(layer.heads) * static_cast<double>(shape.sequence);
  for (const std::int64_t width : {layer.width, layer.outputs, layer.hidden, layer.vocabulary}) {
    largest = std::max(largest, tokens * static_cast<double>(width));
  }
  for (const LayerSpec& inner : layer.body) largest = std::max(largest, largest_size(inner, shape));
  return largest;
}

}  // namespace

void check_network(const Network& network) {
  if (network.layers.empty()) throw Error("layers: expected at least one layer");
  ChainCheck().chain(network.layers, true);
  check_tied_head(network);
}

void check_shape(const Network& network, const MicrobatchShape& shape) {
  constexpr double kMost = 1e15;  // with 2^3 bytes each, some copies and 20000 layers still below 2^63
  if (shape.samples < 1 || shape.sequence < 1) {
    throw Error("microbatch: expected at least 1 sample and 1 token, found " + std::to_string(shape.samples) + " x " +
                std::to_string(shape.sequence));
  }
  for (const LayerSpec& layer : network.layers) {
    if (largest_size(layer, shape) < kMost) continue;
    fail(layer, "a microbatch of " + std::to_string(shape.samples) + " samples of " + std::to_string(shape.sequence) +
                    " tokens is too large, expected fewer than 10^15 numbers in a tensor");
  }
}

}  // namespace plumb
