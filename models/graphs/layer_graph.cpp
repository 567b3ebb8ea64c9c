#include "models/graphs/layer_graph.hpp"

#include <algorithm>
#include <functional>
#include <queue>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/strong_components.hpp>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

using Digraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;

/// Returns the names of a strongly connected set of several nodes, or of a node that reads itself.
std::string cycle_text(std::size_t count, const std::vector<std::pair<std::int32_t, std::int32_t>>& edges,
                       const std::vector<std::string>& name_of) {
  Digraph graph(count);
  for (const auto& [from, to] : edges) {
    if (from == to) return "'" + name_of[static_cast<std::size_t>(from)] + "' reads itself";
    boost::add_edge(static_cast<std::size_t>(from), static_cast<std::size_t>(to), graph);
  }
  std::vector<std::size_t> component(count);
  boost::strong_components(
      graph, boost::make_iterator_property_map(component.begin(), boost::get(boost::vertex_index, graph)));
  std::vector<std::size_t> members(count, 0);
  for (const std::size_t c : component) ++members[c];
  std::string text;
  std::size_t shown = 0;
  const auto chosen = static_cast<std::size_t>(std::max_element(members.begin(), members.end()) - members.begin());
  for (std::size_t k = 0; k < count && shown < 5; ++k) {
    if (component[k] != chosen) continue;
    text += (shown++ == 0 ? "'" : ", '") + name_of[k] + "'";
  }
  return text + (members[chosen] > shown ? ", ..." : "") + " read each other";
}

}  // namespace

Neighbours neighbours(const LayerGraph& graph) {
  Neighbours result{std::vector<std::vector<std::int32_t>>(graph.size()),
                    std::vector<std::vector<std::int32_t>>(graph.size())};
  for (const LayerEdge& edge : graph.edges) {
    result.after[static_cast<std::size_t>(edge.from)].push_back(edge.to);
    result.before[static_cast<std::size_t>(edge.to)].push_back(edge.from);
  }
  return result;
}

std::vector<std::int32_t> topological_order(std::size_t count,
                                            const std::vector<std::pair<std::int32_t, std::int32_t>>& edges,
                                            const std::vector<std::string>& name_of, std::string_view where) {
  std::vector<std::vector<std::int32_t>> after(count);
  std::vector<std::int32_t> missing(count, 0);
  for (const auto& [from, to] : edges) {
    after[static_cast<std::size_t>(from)].push_back(to);
    ++missing[static_cast<std::size_t>(to)];
  }
  std::priority_queue<std::int32_t, std::vector<std::int32_t>, std::greater<>> ready;
  for (std::size_t k = 0; k < count; ++k) {
    if (missing[k] == 0) ready.push(static_cast<std::int32_t>(k));
  }
  std::vector<std::int32_t> order;
  while (!ready.empty()) {
    order.push_back(ready.top());
    ready.pop();
    for (const std::int32_t next : after[static_cast<std::size_t>(order.back())]) {
      if (--missing[static_cast<std::size_t>(next)] == 0) ready.push(next);
    }
  }
  if (order.size() < count) {
    throw Error(std::string(where) + ": the graph has a cycle: " + cycle_text(count, edges, name_of) +
                ", expected edges that lead forward");
  }
  return order;
}

void put_in_order(LayerGraph& graph, std::string_view where) {
  std::vector<std::string> names;
  for (const LayerNode& node : graph.nodes) names.push_back(node.id.empty() ? node.name : node.id);
  std::vector<std::pair<std::int32_t, std::int32_t>> edges;
  for (const LayerEdge& edge : graph.edges) edges.emplace_back(edge.from, edge.to);
  const std::vector<std::int32_t> order = topological_order(graph.size(), edges, names, where);
  std::vector<std::int32_t> place(graph.size());
  std::vector<LayerNode> nodes;
  for (std::size_t k = 0; k < order.size(); ++k) {
    place[static_cast<std::size_t>(order[k])] = static_cast<std::int32_t>(k);
    nodes.push_back(std::move(graph.nodes[static_cast<std::size_t>(order[k])]));
  }
  graph.nodes = std::move(nodes);
  for (LayerEdge& edge : graph.edges) {
    edge.from = place[static_cast<std::size_t>(edge.from)];
    edge.to = place[static_cast<std::size_t>(edge.to)];
  }
  std::sort(graph.edges.begin(), graph.edges.end());
  const auto same = [](const LayerEdge& a, const LayerEdge& b) { return a.from == b.from && a.to == b.to; };
  graph.edges.erase(std::unique(graph.edges.begin(), graph.edges.end(), same), graph.edges.end());
}

LayerTotals totals(const LayerGraph& graph) {
  LayerTotals sum;
  for (const LayerNode& node : graph.nodes) {
    sum.parameter_bytes += node.parameter_bytes;
    if (node.loads_data) continue;
    sum.forward_ns += node.forward_ns;
    sum.backward_ns += node.backward_ns;
  }
  return sum;
}

LayerGraph without(const LayerGraph& graph, const std::vector<bool>& dropped) {
  LayerGraph rest{graph.name, graph.source, graph.samples, {}, {}};
  std::vector<std::int32_t> place(graph.size(), -1);
  for (std::size_t k = 0; k < graph.size(); ++k) {
    if (dropped[k]) continue;
    place[k] = static_cast<std::int32_t>(rest.nodes.size());
    rest.nodes.push_back(graph.nodes[k]);
  }
  for (const LayerEdge& edge : graph.edges) {
    const std::int32_t from = place[static_cast<std::size_t>(edge.from)];
    const std::int32_t to = place[static_cast<std::size_t>(edge.to)];
    if (from >= 0 && to >= 0) rest.edges.push_back({from, to, edge.bytes});
  }
  return rest;
}

}  // namespace plumb
