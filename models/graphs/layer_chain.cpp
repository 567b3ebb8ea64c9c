#include "models/graphs/layer_chain.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "models/ground/error.hpp"
#include "models/layers/describe_layer.hpp"

namespace plumb {
namespace {

/// Returns, by position in the chain, the last position that reads the output; -1: none.
std::vector<std::int64_t> last_readers(const LayerGraph& graph, const std::vector<std::int64_t>& position) {
  std::vector<std::int64_t> last(graph.size(), -1);
  for (const LayerEdge& edge : graph.edges) {
    auto& reader = last[static_cast<std::size_t>(edge.from)];
    reader = std::max(reader, position[static_cast<std::size_t>(edge.to)]);
  }
  return last;
}

/// Adds each output to the cuts that it crosses.
void fill_cuts(const LayerGraph& graph, LayerChain& chain) {
  std::vector<std::int64_t> position(graph.size(), -1);
  for (std::size_t k = 0; k < chain.size(); ++k) {
    position[static_cast<std::size_t>(chain.node[k])] = static_cast<std::int64_t>(k);
  }
  const std::vector<std::int64_t> last = last_readers(graph, position);
  chain.cut_bytes.assign(chain.size() + 1, 0);
  for (std::size_t k = 0; k < chain.size(); ++k) {
    const auto node = static_cast<std::size_t>(chain.node[k]);
    if (last[node] <= static_cast<std::int64_t>(k)) continue;
    // Differences first, sums after.
    chain.cut_bytes[k + 1] += graph.nodes[node].output_bytes;
    chain.cut_bytes[static_cast<std::size_t>(last[node]) + 1] -= graph.nodes[node].output_bytes;
  }
  std::partial_sum(chain.cut_bytes.begin(), chain.cut_bytes.end(), chain.cut_bytes.begin());
}

}  // namespace

LayerChain chain_of(const LayerGraph& graph) {
  LayerChain chain;
  for (auto* sums : {&chain.forward_ns, &chain.backward_ns, &chain.parameter_bytes, &chain.activation_bytes}) {
    sums->assign(1, 0);
  }
  for (std::size_t k = 0; k < graph.size(); ++k) {
    const LayerNode& node = graph.nodes[k];
    if (node.loads_data) continue;
    chain.node.push_back(static_cast<std::int32_t>(k));
    chain.forward_ns.push_back(chain.forward_ns.back() + node.forward_ns);
    chain.backward_ns.push_back(chain.backward_ns.back() + node.backward_ns);
    chain.parameter_bytes.push_back(chain.parameter_bytes.back() + node.parameter_bytes);
    chain.activation_bytes.push_back(chain.activation_bytes.back() + node.stash_bytes);
  }
  if (chain.node.empty()) throw Error("network '" + graph.name + "': has no layers, expected at least one");
  fill_cuts(graph, chain);
  return chain;
}

Network network_of(const LayerGraph& graph) {
  const LayerChain chain = chain_of(graph);
  Network network{graph.name, graph.source, 1, graph.samples, {}};
  for (std::size_t k = 0; k < chain.size(); ++k) {
    const LayerNode& node = graph.nodes[static_cast<std::size_t>(chain.node[k])];
    LayerSpec layer;
    layer.kind = LayerKind::kProfiled;
    layer.name = "layer" + std::to_string(k) + "." + node.id;
    layer.profiled = {.f_ns = node.forward_ns,
                      .i_ns = node.backward_ns / 2,
                      .w_ns = node.backward_ns - node.backward_ns / 2,
                      .parameter_bytes = node.parameter_bytes,
                      .output_bytes = chain.cut_bytes[k + 1],
                      .kept_for_input_grad_bytes = 0,
                      .kept_for_weight_grad_bytes = node.stash_bytes};
    network.layers.push_back(std::move(layer));
  }
  return network;
}

LayerGraph graph_of(const Network& network, const StageCosts& layers) {
  LayerGraph graph{network.name, network.source, std::max<std::int64_t>(1, layers.work.samples_per_microbatch), {}, {}};
  for (std::size_t k = 0; k < network.layers.size(); ++k) {
    const StageTimes& times = layers.times[k];
    LayerNode node;
    node.id = std::to_string(k);
    node.name = network.layers[k].name;
    node.forward_ns = to_ns(times.f, layers.base);
    node.backward_ns = to_ns(times.b, layers.base);
    if (!layers.memory.empty()) {
      const StageMemory& memory = layers.memory[k];
      node.output_bytes = memory.output_bytes;
      node.parameter_bytes = memory.weight_bytes;
      node.stash_bytes = memory.input_bytes;
      for (const StashTensor& tensor : memory.stash) node.stash_bytes += tensor.bytes;
    }
    graph.nodes.push_back(std::move(node));
    if (k > 0) {
      const auto to = static_cast<std::int32_t>(k);
      graph.edges.push_back({to - 1, to, graph.nodes[k - 1].output_bytes});
    }
  }
  return graph;
}

}  // namespace plumb
