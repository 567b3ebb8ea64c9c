#include "models/import/tensor_variants.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "models/ground/error.hpp"
#include "models/ground/json_reader.hpp"
#include "models/import/limits.hpp"

namespace plumb {
namespace {

constexpr double kMostSeconds = 1e9;
constexpr std::int64_t kMostVariantDevices = 1 << 20;
constexpr std::int64_t kMostMicrobatches = 1 << 24;

/// Returns a whole number that is the key of a member.
std::int64_t number_key(const JsonValue& object, std::string_view key, std::int64_t least) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), number);
  if (error != std::errc{} || end != key.data() + key.size() || number < least) {
    object.fail("expected whole numbers as keys, found '" + std::string(key) + "'");
  }
  return number;
}

/// What is known of a node before its neighbours are.
struct RawVariant {
  TensorVariant variant;
  std::map<std::int64_t, double> receives;  // by id
  std::map<std::int64_t, double> sends;
};

std::map<std::int64_t, double> bytes_by_id(const JsonValue& object) {
  std::map<std::int64_t, double> bytes;
  for (const JsonValue::Member& member : object.members()) {
    bytes[number_key(object, member.key, 0)] = member.value.number(0, kMostImportedBytes);
  }
  return bytes;
}

RawVariant variant_of(const JsonValue& item, std::int64_t degree) {
  item.allow_only({"id", "timePerSample", "parameterSize", "memoryUsageA", "memoryUsageB", "syncTimeFw", "syncTimeBw"});
  RawVariant raw;
  raw.variant.degree = static_cast<std::int32_t>(degree);
  raw.variant.id = item.at("id").text();
  raw.variant.seconds = item.at("timePerSample").number(0, kMostSeconds);
  raw.variant.parameter_bytes = item.at("parameterSize").number(0, kMostImportedBytes);
  raw.variant.bytes_per_copy = item.at("memoryUsageA").number(0, kMostImportedBytes);
  raw.variant.bytes_fixed = item.at("memoryUsageB").number(0, kMostImportedBytes);
  raw.receives = bytes_by_id(item.at("syncTimeFw"));
  raw.sends = bytes_by_id(item.at("syncTimeBw"));
  return raw;
}

struct VariantReader {
  std::vector<std::int64_t> ids;
  std::vector<std::string> labels;
  std::vector<std::vector<RawVariant>> variants;
  std::map<std::int64_t, std::int32_t> position;
  std::vector<std::pair<std::int32_t, std::int32_t>> edges;
  std::vector<double> edge_bytes;

  void read_node(const JsonValue& item) {
    item.allow_only({"id", "name", "TMPCs"});
    const std::int64_t id = item.at("id").integer(0);
    if (!position.emplace(id, static_cast<std::int32_t>(ids.size())).second) {
      item.at("id").fail("node " + std::to_string(id) + " was described before, expected every id once");
    }
    ids.push_back(id);
    const auto name = item.find("name");
    labels.push_back(name ? std::string(name->text()) : std::to_string(id));
    std::vector<RawVariant> found;
    const JsonValue degrees = item.at("TMPCs");
    for (const JsonValue::Member& member : degrees.members()) {
      const std::int64_t degree = number_key(degrees, member.key, 1);
      if (degree > kMostVariantDevices) degrees.fail("expected degrees up to " + std::to_string(kMostVariantDevices));
      for (const JsonValue& variant : member.value.elements()) found.push_back(variant_of(variant, degree));
    }
    if (found.empty()) degrees.fail("expected at least one configuration");
    std::stable_sort(found.begin(), found.end(),
                     [](const RawVariant& a, const RawVariant& b) { return a.variant.degree < b.variant.degree; });
    variants.push_back(std::move(found));
  }

  void read_edge(const JsonValue& item) {
    item.allow_only({"sourceId", "destId", "communicationCost"});
    const auto known = [&](const JsonValue& id) {
      const auto found = position.find(id.integer());
      if (found == position.end()) id.fail("there is no node " + std::to_string(id.integer()));
      return found->second;
    };
    const std::pair edge{known(item.at("sourceId")), known(item.at("destId"))};
    if (std::find(edges.begin(), edges.end(), edge) != edges.end()) item.fail("this edge is given twice");
    edges.push_back(edge);
    edge_bytes.push_back(item.at("communicationCost").number(0, kMostImportedBytes));
  }

  /// Extra bytes by neighbour; 0 where the file has none.
  static std::vector<double> in_order(const std::map<std::int64_t, double>& bytes, const VariantGraph& graph,
                                      const std::vector<VariantEdge>& around) {
    std::vector<double> sorted;
    for (const VariantEdge& edge : around) {
      const auto found = bytes.find(graph.id[static_cast<std::size_t>(edge.node)]);
      sorted.push_back(found == bytes.end() ? 0 : found->second);
    }
    return sorted;
  }

  void finish(VariantGraph& graph, std::string_view file_name) {
    std::vector<std::string> names;
    for (const std::int64_t id : ids) names.push_back(std::to_string(id));
    const std::vector<std::int32_t> order = topological_order(ids.size(), edges, names, file_name);
    std::vector<std::int32_t> place(order.size());
    for (std::size_t k = 0; k < order.size(); ++k) {
      const auto old = static_cast<std::size_t>(order[k]);
      place[old] = static_cast<std::int32_t>(k);
      graph.id.push_back(ids[old]);
      graph.label.push_back(labels[old]);
    }
    graph.before.resize(order.size());
    graph.after.resize(order.size());
    for (std::size_t e = 0; e < edges.size(); ++e) {
      const std::int32_t from = place[static_cast<std::size_t>(edges[e].first)];
      const std::int32_t to = place[static_cast<std::size_t>(edges[e].second)];
      graph.after[static_cast<std::size_t>(from)].push_back({to, edge_bytes[e]});
      graph.before[static_cast<std::size_t>(to)].push_back({from, edge_bytes[e]});
    }
    for (std::size_t k = 0; k < order.size(); ++k) {
      graph.variants.emplace_back();
      for (RawVariant& raw : variants[static_cast<std::size_t>(order[k])]) {
        raw.variant.receives_bytes = in_order(raw.receives, graph, graph.before[k]);
        raw.variant.sends_bytes = in_order(raw.sends, graph, graph.after[k]);
        graph.variants.back().push_back(std::move(raw.variant));
      }
    }
  }
};

}  // namespace

VariantGraph variant_graph_from_json(std::string_view text, std::string_view file_name) {
  const JsonDocument document{std::string(text), std::string(file_name)};
  const JsonValue root = document.root();
  root.allow_only({"maxDevices", "maxMemoryPerDevice", "bandwidth", "mbsInBatch", "nodes", "edges"});
  VariantGraph graph;
  graph.devices = static_cast<std::int32_t>(root.at("maxDevices").integer(1, kMostVariantDevices));
  graph.device_bytes = root.at("maxMemoryPerDevice").number(0, kMostImportedBytes);
  graph.bytes_per_s = root.at("bandwidth").number(1, kMostImportedBytes);
  graph.microbatches = root.at("mbsInBatch").integer(1, kMostMicrobatches);
  VariantReader reader;
  for (const JsonValue& node : root.at("nodes").elements()) reader.read_node(node);
  if (reader.ids.empty()) root.at("nodes").fail("expected at least one node");
  for (const JsonValue& edge : root.at("edges").elements()) reader.read_edge(edge);
  reader.finish(graph, file_name);
  return graph;
}

LayerGraph layers_of(const VariantGraph& graph) {
  LayerGraph layers{graph.name, "", 1, {}, {}};
  for (std::size_t k = 0; k < graph.size(); ++k) {
    const TensorVariant& plain = graph.variants[k].front();
    const std::int64_t total = std::llround(plain.seconds * 1e9);
    LayerNode node;
    node.id = std::to_string(graph.id[k]);
    node.name = graph.label[k];
    node.forward_ns = total / 3;
    node.backward_ns = total - total / 3;
    node.parameter_bytes = std::llround(plain.parameter_bytes);
    node.stash_bytes = std::llround(plain.bytes_per_copy);
    for (const VariantEdge& edge : graph.after[k]) {
      node.output_bytes = std::max(node.output_bytes, static_cast<std::int64_t>(std::llround(edge.bytes)));
      layers.edges.push_back({static_cast<std::int32_t>(k), edge.node, std::llround(edge.bytes)});
    }
    layers.nodes.push_back(std::move(node));
  }
  std::sort(layers.edges.begin(), layers.edges.end());
  return layers;
}

}  // namespace plumb
