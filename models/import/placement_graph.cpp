#include "models/import/placement_graph.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "models/ground/error.hpp"
#include "models/ground/json_reader.hpp"
#include "models/import/limits.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kMostPlacementDevices = 4096;

std::int64_t nanoseconds(const JsonValue& ms) { return std::llround(ms.number(0, kMostImportedMs) * 1e6); }

std::int64_t bytes_of(const JsonValue& value) { return std::llround(value.number(0, kMostImportedBytes)); }

bool flag_of(const JsonValue& value) {
  return value.kind() == JsonValue::Kind::kBoolean ? value.boolean() : value.integer(0, 1) == 1;
}

PlacementNode node_of(const JsonValue& item) {
  item.allow_only({"id", "name", "layerId", "supportedOnFpga", "cpuLatency", "fpgaLatency", "isBackwardNode",
                   "colorClass", "size"});
  PlacementNode node;
  node.id = item.at("id").integer();
  const auto name = item.find("name");
  node.name = name && name->is_string() ? std::string(name->text()) : std::to_string(node.id);
  node.on_accelerator = flag_of(item.at("supportedOnFpga"));
  node.cpu_ns = nanoseconds(item.at("cpuLatency"));
  // Where an operator cannot run, publishers write anything, also infinity.
  node.accelerator_ns = node.on_accelerator ? nanoseconds(item.at("fpgaLatency")) : 0;
  node.bytes = bytes_of(item.at("size"));
  if (const auto backward = item.find("isBackwardNode")) node.backward = flag_of(*backward);
  return node;
}

struct PlacementReader {
  PlacementGraph graph;
  std::map<std::int64_t, std::int32_t> position;  // by id
  std::vector<bool> has_cost;

  void read_nodes(const JsonValue& list) {
    std::int64_t own_colour = -1;
    for (const JsonValue& item : list.elements()) {
      PlacementNode node = node_of(item);
      const auto colour = item.find("colorClass");
      node.colour = colour ? colour->integer(0) : own_colour--;
      if (!position.emplace(node.id, static_cast<std::int32_t>(graph.nodes.size())).second) {
        item.at("id").fail("node " + std::to_string(node.id) + " was described before, expected every id once");
      }
      graph.nodes.push_back(std::move(node));
    }
    has_cost.assign(graph.nodes.size(), false);
  }

  std::int32_t known(const JsonValue& id) const {
    const auto found = position.find(id.integer());
    if (found == position.end()) id.fail("there is no node " + std::to_string(id.integer()));
    return found->second;
  }

  void read_edge(const JsonValue& item) {
    item.allow_only({"sourceId", "destId", "cost", "size"});
    const std::int32_t from = known(item.at("sourceId"));
    const std::int32_t to = known(item.at("destId"));
    const std::int64_t cost = nanoseconds(item.at("cost"));
    PlacementNode& node = graph.nodes[static_cast<std::size_t>(from)];
    if (has_cost[static_cast<std::size_t>(from)] && node.transfer_ns != cost) {
      item.at("cost").fail("expected the same cost on all edges that leave node " + std::to_string(node.id));
    }
    has_cost[static_cast<std::size_t>(from)] = true;
    node.transfer_ns = cost;
    graph.edges.emplace_back(from, to);
    const auto size = item.find("size");
    graph.edge_bytes.push_back(size ? bytes_of(*size) : 0);
  }
};

/// Edges of `graph` sorted by the new positions, each once.
void renumber_edges(PlacementGraph& graph, const std::vector<std::int32_t>& place) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t> edges;
  for (std::size_t e = 0; e < graph.edges.size(); ++e) {
    const auto [from, to] = graph.edges[e];
    edges.emplace(std::pair(place[static_cast<std::size_t>(from)], place[static_cast<std::size_t>(to)]),
                  graph.edge_bytes[e]);
  }
  graph.edges.clear();
  graph.edge_bytes.clear();
  for (const auto& [edge, bytes] : edges) {
    graph.edges.push_back(edge);
    graph.edge_bytes.push_back(bytes);
  }
}

void sort_nodes(PlacementGraph& graph, std::string_view file_name) {
  std::vector<std::string> names;
  for (const PlacementNode& node : graph.nodes) names.push_back(std::to_string(node.id));
  const std::vector<std::int32_t> order = topological_order(graph.nodes.size(), graph.edges, names, file_name);
  std::vector<std::int32_t> place(order.size());
  std::vector<PlacementNode> nodes;
  for (std::size_t k = 0; k < order.size(); ++k) {
    place[static_cast<std::size_t>(order[k])] = static_cast<std::int32_t>(k);
    nodes.push_back(std::move(graph.nodes[static_cast<std::size_t>(order[k])]));
  }
  graph.nodes = std::move(nodes);
  renumber_edges(graph, place);
}

}  // namespace

PlacementGraph placement_graph_from_json(std::string_view text, std::string_view file_name) {
  const JsonDocument document{std::string(text), std::string(file_name)};
  const JsonValue root = document.root();
  root.allow_only({"maxSizePerFPGA", "maxFPGAs", "maxCPUs", "nodes", "edges"});
  PlacementReader reader;
  reader.graph.accelerator_bytes = bytes_of(root.at("maxSizePerFPGA"));
  reader.graph.accelerators = static_cast<std::int32_t>(root.at("maxFPGAs").integer(0, kMostPlacementDevices));
  reader.graph.cpus = static_cast<std::int32_t>(root.at("maxCPUs").integer(0, kMostPlacementDevices));
  reader.read_nodes(root.at("nodes"));
  if (reader.graph.nodes.empty()) root.at("nodes").fail("expected at least one node");
  for (const JsonValue& edge : root.at("edges").elements()) reader.read_edge(edge);
  sort_nodes(reader.graph, file_name);
  return std::move(reader.graph);
}

LayerGraph layers_of(const PlacementGraph& graph) {
  LayerGraph layers{graph.name, "", 1, {}, {}};
  std::vector<std::int32_t> layer(graph.nodes.size(), -1);
  std::map<std::int64_t, std::int32_t> of_colour;
  const auto add = [&](std::size_t k) {
    const PlacementNode& node = graph.nodes[k];
    layer[k] = static_cast<std::int32_t>(layers.size());
    LayerNode made;
    made.id = std::to_string(node.id);
    made.name = node.name;
    made.forward_ns = node.backward ? 0 : node.accelerator_ns;
    made.backward_ns = node.backward ? node.accelerator_ns : 0;
    made.stash_bytes = node.bytes;
    layers.nodes.push_back(std::move(made));
    of_colour[node.colour] = layer[k];
  };
  for (std::size_t k = 0; k < graph.nodes.size(); ++k) {
    if (!graph.nodes[k].backward) add(k);
  }
  for (std::size_t k = 0; k < graph.nodes.size(); ++k) {
    const PlacementNode& node = graph.nodes[k];
    if (!node.backward) continue;
    const auto partner = of_colour.find(node.colour);
    if (partner == of_colour.end()) {
      add(k);
      continue;
    }
    layer[k] = partner->second;
    layers.nodes[static_cast<std::size_t>(layer[k])].backward_ns += node.accelerator_ns;
    layers.nodes[static_cast<std::size_t>(layer[k])].stash_bytes += node.bytes;
  }
  for (std::size_t e = 0; e < graph.edges.size(); ++e) {
    const auto from = static_cast<std::size_t>(graph.edges[e].first);
    const auto to = static_cast<std::size_t>(graph.edges[e].second);
    if (graph.nodes[from].backward || graph.nodes[to].backward) continue;
    layers.edges.push_back({layer[from], layer[to], graph.edge_bytes[e]});
    auto& output = layers.nodes[static_cast<std::size_t>(layer[from])].output_bytes;
    output = std::max(output, graph.edge_bytes[e]);
  }
  put_in_order(layers, "network '" + graph.name + "'");
  return layers;
}

}  // namespace plumb
