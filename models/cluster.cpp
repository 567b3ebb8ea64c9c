#include "models/cluster.hpp"

#include <cassert>

namespace plumb {
namespace {

/// Shared links of one node, in their order in `Cluster::shared_links`.
struct NodeLinks {
  std::int32_t bus = -1;
  std::int32_t out = -1;
  std::int32_t in = -1;
};

NodeLinks links_of(const Cluster& cluster, std::int32_t node) {
  const std::int32_t buses = cluster.intra_node.shared ? 1 : 0;
  const std::int32_t cards = !cluster.inter_node.shared ? 0 : cluster.inter_node.half_duplex ? 1 : 2;
  const std::int32_t first = node * (buses + cards);
  NodeLinks links;
  if (buses > 0) links.bus = first;
  if (cards > 0) {
    links.out = first + buses;
    links.in = first + buses + cards - 1;
  }
  return links;
}

}  // namespace

void Cluster::finish() {
  assert(devices_per_node > 0 && devices.size() % static_cast<std::size_t>(devices_per_node) == 0);
  shared_links.clear();
  const auto nodes = static_cast<std::int32_t>(devices.size()) / devices_per_node;
  for (std::int32_t node = 0; node < nodes; ++node) {
    const std::string prefix = "node" + std::to_string(node);
    if (intra_node.shared) shared_links.push_back({prefix + ".bus", intra_node.bytes_per_s});
    if (!inter_node.shared) continue;
    if (inter_node.half_duplex) {
      shared_links.push_back({prefix + ".card", inter_node.bytes_per_s});
    } else {
      shared_links.push_back({prefix + ".out", inter_node.bytes_per_s});
      shared_links.push_back({prefix + ".in", inter_node.bytes_per_s});
    }
  }
}

Route Cluster::route(DeviceId src, DeviceId dst) const {
  assert(src != dst && index(src) < devices.size() && index(dst) < devices.size());
  const std::int32_t src_node = static_cast<std::int32_t>(src) / devices_per_node;
  const std::int32_t dst_node = static_cast<std::int32_t>(dst) / devices_per_node;
  const bool inside = src_node == dst_node;
  const Network& network = inside ? intra_node : inter_node;
  Route route{network.latency_ns, network.bytes_per_s, {}, network.half_duplex && !network.shared};
  if (network.shared && inside) route.shared = {links_of(*this, src_node).bus};
  if (network.shared && !inside) route.shared = {links_of(*this, src_node).out, links_of(*this, dst_node).in};
  return route;
}

}  // namespace plumb
