#include "sim/planners/placement_blocks.hpp"
#include "sim/planners/numbers.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/strong_components.hpp>

namespace plumb {
namespace {

using Edges = std::set<std::pair<std::int32_t, std::int32_t>>;

/// Numbers 0 .. n - 1 for the values of `labels`, by first occurrence.
std::int32_t make_dense(std::vector<std::int32_t>& labels) {
  std::map<std::int32_t, std::int32_t> number;
  for (std::int32_t& label : labels)
    label = number.emplace(label, static_cast<std::int32_t>(number.size())).first->second;
  return static_cast<std::int32_t>(number.size());
}

/// By node: the block of its colour.
std::vector<std::int32_t> colour_blocks(const PlacementGraph& graph) {
  std::map<std::int64_t, std::int32_t> number;
  std::vector<std::int32_t> block;
  for (const PlacementNode& node : graph.nodes) {
    block.push_back(number.emplace(node.colour, static_cast<std::int32_t>(number.size())).first->second);
  }
  return block;
}

/// Order between blocks: forward edges, and backward ones turned around where a block has no forward node.
Edges order_edges(const PlacementGraph& graph, const std::vector<std::int32_t>& block, std::int32_t count) {
  std::vector<bool> has_forward(at(count), false);
  for (std::size_t k = 0; k < graph.nodes.size(); ++k) {
    if (!graph.nodes[k].backward) has_forward[at(block[k])] = true;
  }
  Edges edges;
  for (const auto& [from, to] : graph.edges) {
    const std::int32_t a = block[at(from)];
    const std::int32_t b = block[at(to)];
    if (a == b) continue;
    const bool backward = graph.nodes[at(from)].backward || graph.nodes[at(to)].backward;
    if (!backward) {
      edges.emplace(a, b);
    } else if (graph.nodes[at(from)].backward && graph.nodes[at(to)].backward &&
               (!has_forward[at(a)] || !has_forward[at(b)])) {
      edges.emplace(b, a);
    }
  }
  return edges;
}

/// Fuses blocks on cycles.
void fuse_cycles(const Edges& edges, std::vector<std::int32_t>& block, std::int32_t count) {
  boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS> digraph(at(count));
  for (const auto& [a, b] : edges) boost::add_edge(at(a), at(b), digraph);
  std::vector<std::int32_t> component(at(count));
  boost::strong_components(
      digraph, boost::make_iterator_property_map(component.begin(), boost::get(boost::vertex_index, digraph)));
  for (std::int32_t& b : block) b = component[at(b)];
}

/// Lets free sinks with a single predecessor join it; repeats until nothing changes.
bool fold_free_sinks(const PlacementGraph& graph, const Edges& edges, std::vector<std::int32_t>& block,
                     std::int32_t count) {
  std::vector<bool> is_free(at(count), true);
  for (std::size_t k = 0; k < graph.nodes.size(); ++k) {
    const PlacementNode& node = graph.nodes[k];
    if (node.accelerator_ns != 0 || node.cpu_ns != 0 || !node.on_accelerator) {
      is_free[at(block[k])] = false;
    }
  }
  std::vector<std::int32_t> readers(at(count), 0);
  std::vector<std::vector<std::int32_t>> read(at(count));
  for (const auto& [a, b] : edges) {
    ++readers[at(a)];
    read[at(b)].push_back(a);
  }
  bool folded = false;
  for (std::int32_t b = 0; b < count; ++b) {
    if (!is_free[at(b)] || readers[at(b)] != 0 || read[at(b)].size() != 1) continue;
    for (std::int32_t& other : block) {
      if (other == b) other = read[at(b)].front();
    }
    folded = true;
  }
  return folded;
}

void collect(const PlacementGraph& graph, const std::vector<std::int32_t>& block, PlacementBlocks& result) {
  for (std::size_t k = 0; k < graph.nodes.size(); ++k) {
    PlacementBlock& own = result.blocks[at(block[k])];
    const PlacementNode& node = graph.nodes[k];
    own.nodes.push_back(static_cast<std::int32_t>(k));
    own.accelerator_ns += node.accelerator_ns;
    own.cpu_ns += node.cpu_ns;
    own.bytes += node.bytes;
    own.on_accelerator = own.on_accelerator && node.on_accelerator;
  }
  std::vector<NodeSet> reach(graph.nodes.size());
  for (const auto& [from, to] : graph.edges) {
    if (block[at(from)] == block[at(to)] || graph.nodes[at(from)].transfer_ns == 0) continue;
    if (reach[at(from)].words().empty()) {
      reach[at(from)] = NodeSet(result.blocks.size());
      reach[at(from)].add(at(block[at(from)]));
    }
    reach[at(from)].add(at(block[at(to)]));
  }
  for (std::size_t k = 0; k < graph.nodes.size(); ++k) {
    if (!reach[k].words().empty()) result.outputs.push_back({std::move(reach[k]), graph.nodes[k].transfer_ns});
  }
}

}  // namespace

PlacementBlocks placement_blocks(const PlacementGraph& graph) {
  std::vector<std::int32_t> block = colour_blocks(graph);
  std::int32_t count = make_dense(block);
  fuse_cycles(order_edges(graph, block, count), block, count);
  count = make_dense(block);
  Edges edges = order_edges(graph, block, count);
  while (fold_free_sinks(graph, edges, block, count)) {
    count = make_dense(block);
    edges = order_edges(graph, block, count);
  }
  std::vector<std::string> names(at(count));
  for (std::size_t k = 0; k < block.size(); ++k) names[at(block[k])] = graph.nodes[k].name;
  const std::vector<std::int32_t> order =
      topological_order(at(count), {edges.begin(), edges.end()}, names, "network '" + graph.name + "'");
  std::vector<std::int32_t> place(at(count));
  for (std::size_t k = 0; k < order.size(); ++k) place[at(order[k])] = static_cast<std::int32_t>(k);
  for (std::int32_t& b : block) b = place[at(b)];
  PlacementBlocks result;
  result.blocks.resize(at(count));
  result.before.resize(at(count));
  for (const auto& [a, b] : edges) result.before[at(place[at(b)])].push_back(place[at(a)]);
  collect(graph, block, result);
  return result;
}

}  // namespace plumb
