#include "models/network/flow.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

/// Opens residual blocks depth first: body, shortcut, addition.
class FlowBuilder {
 public:
  Flow build(std::span<const LayerSpec> chain) {
    std::int32_t before = FlowNode::kOutside;
    for (const LayerSpec& layer : chain) {
      flow_.begin.push_back(flow_.nodes.size());
      before = add(layer, before);
    }
    flow_.begin.push_back(flow_.nodes.size());
    count_readers();
    return std::move(flow_);
  }

 private:
  /// Returns the node that makes the output of `layer`, which reads `before` unless it names another one.
  std::int32_t add(const LayerSpec& layer, std::int32_t before) {
    const std::int32_t input = layer.input.empty() ? before : named(layer, layer.input);
    if (layer.kind == LayerKind::kResidual) return add_residual(layer, input);
    FlowNode node{.layer = &layer, .input = input};
    if (begins_network(layer.kind)) node.input = FlowNode::kNothing;
    if (!layer.from.empty()) node.from = named(layer, layer.from);
    if (reads_two(layer.kind) && layer.from.empty()) {
      throw Error("layer '" + layer.name + "': reads two values; expected 'from', the name of an earlier layer");
    }
    return push(node);
  }

  std::int32_t add_residual(const LayerSpec& layer, std::int32_t input) {
    if (layer.body.empty()) throw Error("layer '" + layer.name + "': a residual needs at least one layer in its body");
    std::int32_t body = input;
    for (const LayerSpec& inner : layer.body) body = add(inner, body);
    std::int32_t shortcut = layer.from.empty() ? input : named(layer, layer.from);
    for (const LayerSpec& inner : layer.shortcut) shortcut = add(inner, shortcut);
    return push({.layer = &layer, .input = body, .from = shortcut});
  }

  std::int32_t push(FlowNode node) {
    const auto gradient = [&](std::int32_t k) {
      return k == FlowNode::kOutside || (k >= 0 && flow_.node(k).needs_gradient);
    };
    node.needs_gradient = gradient(node.input) || gradient(node.from) || (!node.is_sum() && has_weights(*node.layer));
    flow_.nodes.push_back(node);
    const auto number = static_cast<std::int32_t>(flow_.nodes.size()) - 1;
    numbers_[node.layer->name] = number;
    return number;
  }

  std::int32_t named(const LayerSpec& layer, const std::string& name) const {
    const auto found = numbers_.find(name);
    if (found != numbers_.end()) return found->second;
    throw Error("layer '" + layer.name + "': reads '" + name + "', which is not an earlier layer");
  }

  void count_readers() {
    for (std::size_t k = 0; k < flow_.nodes.size(); ++k) {
      for (const std::int32_t read : {flow_.nodes[k].input, flow_.nodes[k].from}) {
        if (read < 0) continue;
        FlowNode& node = flow_.nodes[static_cast<std::size_t>(read)];
        node.last_reader = static_cast<std::int32_t>(k);
        ++node.readers;
      }
    }
  }

  Flow flow_;
  std::map<std::string_view, std::int32_t> numbers_;
};

}  // namespace

Flow open_chain(std::span<const LayerSpec> chain) { return FlowBuilder().build(chain); }

bool has_weights(const LayerSpec& layer) {
  switch (layer.kind) {
    case LayerKind::kResidual:
      return std::ranges::any_of(layer.body, has_weights) || std::ranges::any_of(layer.shortcut, has_weights);
    case LayerKind::kProfiled:
      return layer.profiled.parameter_bytes > 0;
    case LayerKind::kValues:
    case LayerKind::kSquaredError:
    case LayerKind::kAdd:
    case LayerKind::kPixels:
    case LayerKind::kRelu:
    case LayerKind::kMaxPool:
    case LayerKind::kAveragePool:
    case LayerKind::kAttentionCore:
      return false;
    default:
      return true;
  }
}

const LayerSpec* last_embedding(std::span<const LayerSpec> chain) {
  const auto found = std::ranges::find(chain.rbegin(), chain.rend(), LayerKind::kEmbedding, &LayerSpec::kind);
  return found == chain.rend() ? nullptr : &*found;
}

Network opened(const Network& network) {
  const Flow flow = open_chain(network.layers);
  Network result = network;
  result.layers.clear();
  for (std::size_t k = 0; k < flow.nodes.size(); ++k) {
    const FlowNode& node = flow.nodes[k];
    const auto name_of = [&](std::int32_t of) { return of < 0 ? std::string() : flow.node(of).layer->name; };
    LayerSpec layer = *node.layer;
    if (layer.kind == LayerKind::kResidual) {
      layer.kind = LayerKind::kAdd;
      layer.width = 0;  // filled in below
      layer.body.clear();
      layer.shortcut.clear();
    }
    layer.input = node.input + 1 == static_cast<std::int32_t>(k) ? "" : name_of(node.input);
    layer.from = name_of(node.from);
    if (node.is_sum() && layer.from.empty()) {
      throw Error("layer '" + layer.name + "': a residual block that begins the network cannot be opened");
    }
    if (node.is_sum()) layer.width = output_width(result.layers[static_cast<std::size_t>(node.input)]);
    result.layers.push_back(std::move(layer));
  }
  return result;
}

}  // namespace plumb
