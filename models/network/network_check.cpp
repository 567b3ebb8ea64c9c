#include "models/network/network_check.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "models/ground/error.hpp"
#include "models/network/flow.hpp"

namespace plumb {
namespace {

[[noreturn]] void fail(const LayerSpec& layer, const std::string& what) {
  throw Error("layer '" + layer.name + "': " + what);
}

void check_image(const LayerSpec& layer) {
  const ImageShape output = output_image(layer);
  if (output.height < 1 || output.columns < 1 || layer.padding >= std::max<std::int64_t>(1, layer.kernel)) {
    fail(layer, "a window of " + std::to_string(layer.kernel) + " with a padding of " + std::to_string(layer.padding) +
                    " does not fit an image of " + std::to_string(layer.height) + " x " +
                    std::to_string(layer.columns));
  }
  if (layer.kind == LayerKind::kGroupNorm && layer.channels % layer.groups != 0) {
    fail(layer,
         "groups (" + std::to_string(layer.groups) + ") must divide channels (" + std::to_string(layer.channels) + ")");
  }
}

/// What is wrong with a layer by itself, or for where it stands; names.
class LayerCheck {
 public:
  void list(const std::vector<LayerSpec>& layers, bool outermost) {
    for (std::size_t k = 0; k < layers.size(); ++k) {
      const LayerSpec& layer = layers[k];
      if (!names_.insert(layer.name).second) fail(layer, "the name is used twice");
      if (ends_network(layer.kind) && !(outermost && k + 1 == layers.size())) {
        fail(layer, "a head must be the last layer of the network");
      }
      if (!outermost) check_inside(layer);
      one(layer);
    }
  }

 private:
  /// A residual block is described by itself, so its layers read nothing from outside.
  static void check_inside(const LayerSpec& layer) {
    if (begins_network(layer.kind)) fail(layer, "a layer that reads data cannot be inside a residual");
    if (layer.kind == LayerKind::kProfiled) fail(layer, "a profiled layer cannot be inside a residual");
    if (!layer.input.empty() || !layer.from.empty()) {
      fail(layer, "names what it reads inside of a residual, expected a network with \"open_residuals\": true");
    }
  }

  void one(const LayerSpec& layer) {
    if (layer.kind == LayerKind::kAttention || layer.kind == LayerKind::kAttentionCore) check_heads(layer);
    if (layer.kind == LayerKind::kMoe && layer.experts_per_token > layer.experts) {
      fail(layer, "experts_per_token (" + std::to_string(layer.experts_per_token) + ") must be at most experts (" +
                      std::to_string(layer.experts) + ")");
    }
    if (layer.kind == LayerKind::kMamba && layer.heads % layer.groups != 0) {
      fail(layer,
           "groups (" + std::to_string(layer.groups) + ") must divide heads (" + std::to_string(layer.heads) + ")");
    }
    if (layer.kind == LayerKind::kLatentAttention && (layer.index_heads > 0) != (layer.index_width > 0)) {
      fail(layer, "has 'index_heads' or 'index_width', expected both of them or neither");
    }
    if (layer.gate_rank > 0 && !layer.delta) fail(layer, "has 'gate_rank', expected 'delta' with it");
    if (reads_image(layer.kind)) check_image(layer);
    if (layer.kind != LayerKind::kResidual) return;
    if (layer.body.empty()) fail(layer, "a residual needs at least one layer in its body");
    if (!layer.from.empty() && !layer.shortcut.empty())
      fail(layer, "has 'from' and 'shortcut', expected one of the two");
    list(layer.body, false);
    list(layer.shortcut, false);
  }

  std::set<std::string_view> names_;
};

/// Widths of what flows; 0 where it is not known.
class WidthCheck {
 public:
  explicit WidthCheck(const Flow& flow) {
    for (const FlowNode& node : flow.nodes) {
      if (node.is_sum()) {
        widths_.push_back(sum(node));
      } else {
        read(node, node.input, input_width(*node.layer));
        read(node, node.from, reads_two(node.layer->kind) ? input_width(*node.layer) : 0);
        widths_.push_back(output_width(*node.layer));
      }
    }
  }

 private:
  std::int64_t width(std::int32_t node) const { return node < 0 ? 0 : widths_[static_cast<std::size_t>(node)]; }

  void read(const FlowNode& node, std::int32_t from, std::int64_t wanted) const {
    const std::int64_t made = width(from);
    if (made == 0 || wanted == 0 || made == wanted) return;
    fail(*node.layer, "width is " + std::to_string(wanted) + ", but the layer before it makes " + std::to_string(made));
  }

  std::int64_t sum(const FlowNode& node) const {
    const LayerSpec& layer = *node.layer;
    const bool is_block = layer.kind == LayerKind::kResidual;
    const std::int64_t made = width(node.input);
    const std::int64_t in = node.from == FlowNode::kOutside ? input_width(layer) : width(node.from);
    if (made != in && in != 0 && is_block) {
      fail(layer, "its body makes width " + std::to_string(made) + " from width " + std::to_string(in));
    }
    if (made != in) fail(layer, "adds width " + std::to_string(in) + " to width " + std::to_string(made));
    return made;
  }

  std::vector<std::int64_t> widths_;  ///< by node
};

void check_tied_head(const Network& network) {
  const LayerSpec& head = network.layers.back();
  if (head.kind != LayerKind::kHead || !head.tied) return;
  const LayerSpec* embedding = last_embedding(network.layers);
  if (embedding == nullptr) fail(head, "is tied, but the network has no embedding");
  if (embedding->vocabulary != head.vocabulary || embedding->width != head.width) {
    fail(head, "is tied, but its vocabulary and width are not those of '" + embedding->name + "'");
  }
}

/// Returns an upper bound of the numbers of one layer that grow with the microbatch.
double largest_size(const LayerSpec& layer, const MicrobatchShape& shape) {
  const double tokens = static_cast<double>(shape.samples) * static_cast<double>(shape.sequence);
  double largest = tokens * static_cast<double>(layer.heads) * static_cast<double>(shape.sequence);
  const std::int64_t made = layer.kind == LayerKind::kResidual
                                ? 0
                                : output_width(layer) * std::max<std::int64_t>(1, layer.kernel * layer.kernel);
  for (const std::int64_t width : {layer.width, layer.outputs, layer.hidden, layer.vocabulary, made}) {
    largest = std::max(largest, tokens * static_cast<double>(width));
  }
  for (const LayerSpec& inner : layer.body) largest = std::max(largest, largest_size(inner, shape));
  for (const LayerSpec& inner : layer.shortcut) largest = std::max(largest, largest_size(inner, shape));
  return largest;
}

}  // namespace

void check_heads(const LayerSpec& layer) {
  const std::int64_t kv_heads = layer.kv_heads == 0 ? layer.heads : layer.kv_heads;
  if (layer.heads < 1 || (layer.head_width == 0 && layer.width % layer.heads != 0)) {
    fail(layer, "heads (" + std::to_string(layer.heads) + ") must divide width (" + std::to_string(layer.width) + ")");
  }
  if (kv_heads < 1 || layer.heads % kv_heads != 0) {
    fail(layer, "kv_heads (" + std::to_string(kv_heads) + ") must divide heads (" + std::to_string(layer.heads) + ")");
  }
  if (const std::int64_t part = std::max(layer.window, layer.chunk); part > 0 && !layer.causal) {
    fail(layer, "a window of " + std::to_string(part) + " tokens needs causal attention");
  }
  if (layer.window > 0 && layer.chunk > 0) fail(layer, "has 'window' and 'chunk', expected one of the two");
  if (layer.turns.original > 0 && layer.turns.high <= layer.turns.low) {
    fail(layer, "rotary_high must be above rotary_low");
  }
  if (layer.rotary && head_width(layer) % 2 != 0) {
    fail(layer, "rotary needs an even width per head, found " + std::to_string(head_width(layer)));
  }
}

void check_network(const Network& network) {
  if (network.layers.empty()) throw Error("layers: expected at least one layer");
  LayerCheck().list(network.layers, true);
  const Flow flow = open_chain(network.layers);
  const WidthCheck check(flow);
  for (std::size_t k = 0; k + 1 < flow.nodes.size(); ++k) {
    if (flow.nodes[k].readers == 0) fail(*flow.nodes[k].layer, "nobody reads its output");
  }
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
