#include "models/cluster/cluster.hpp"

#include <algorithm>
#include <cassert>

namespace plumb {
namespace {

/// Shared links of one node, in their order in `Cluster::shared_links`.
struct NodeLinks {
  std::int32_t bus = -1;
  std::int32_t out = -1;
  std::int32_t in = -1;
};

std::int32_t links_per_node(const Cluster& cluster) {
  const std::int32_t buses = cluster.intra_node.shared ? 1 : 0;
  return buses + (!cluster.inter_node.shared ? 0 : cluster.inter_node.half_duplex ? 1 : 2);
}

NodeLinks links_of(const Cluster& cluster, std::int32_t node) {
  const std::int32_t buses = cluster.intra_node.shared ? 1 : 0;
  const std::int32_t cards = links_per_node(cluster) - buses;
  const std::int32_t first = node * (buses + cards);
  NodeLinks links;
  if (buses > 0) links.bus = first;
  if (cards > 0) {
    links.out = first + buses;
    links.in = first + buses + cards - 1;
  }
  return links;
}

/// Links of a node that copies to and from the host share: those of every switch, then the host's memory.
struct HostLinks {
  std::int32_t switches = 0;  ///< number of switches that are shared
  std::int32_t ways = 0;      ///< links of one switch: 1 when both ways share it
  bool memory = false;

  explicit HostLinks(const Cluster& cluster) {
    const HostLink& host = cluster.host_link;
    if (host.bytes_per_s == 0) return;
    ways = host.half_duplex ? 1 : 2;
    if (host.half_duplex || host.devices_per_link > 1) {
      switches = (cluster.devices_per_node + host.devices_per_link - 1) / host.devices_per_link;
    }
    memory = host.host_bytes_per_s > 0;
  }

  std::int32_t count() const { return switches * ways + (memory ? 1 : 0); }
};

/// Returns the number of `device` in its node.
std::int32_t place_in_node(const Cluster& cluster, std::int32_t device) {
  if (cluster.nodes.empty()) return device % cluster.devices_per_node;
  const auto first = std::ranges::lower_bound(cluster.nodes, cluster.node_of(device));
  return device - static_cast<std::int32_t>(first - cluster.nodes.begin());
}

void add_host_links(Cluster& cluster, std::int32_t nodes) {
  const HostLinks links(cluster);
  for (std::int32_t node = 0; node < nodes; ++node) {
    const std::string prefix = "node" + std::to_string(node) + ".host";
    for (std::int32_t number = 0; number < links.switches; ++number) {
      const std::string name = prefix + std::to_string(number);
      if (links.ways == 1) {
        cluster.shared_links.push_back({name, cluster.host_link.bytes_per_s});
      } else {
        cluster.shared_links.push_back({name + ".out", cluster.host_link.bytes_per_s});
        cluster.shared_links.push_back({name + ".in", cluster.host_link.bytes_per_s});
      }
    }
    if (links.memory) cluster.shared_links.push_back({prefix + ".memory", cluster.host_link.host_bytes_per_s});
  }
}

}  // namespace

void Cluster::finish() {
  const auto together = [](const Network& network) {
    return network.shared_bytes_per_s > 0 ? network.shared_bytes_per_s : network.bytes_per_s;
  };
  assert(devices_per_node > 0);
  assert(nodes.empty() ? devices.size() % static_cast<std::size_t>(devices_per_node) == 0
                       : nodes.size() == devices.size() && std::ranges::is_sorted(nodes));
  shared_links.clear();
  for (std::int32_t node = 0; node < num_nodes(); ++node) {
    const std::string prefix = "node" + std::to_string(node);
    if (intra_node.shared) shared_links.push_back({prefix + ".bus", together(intra_node)});
    if (!inter_node.shared) continue;
    if (inter_node.half_duplex) {
      shared_links.push_back({prefix + ".card", together(inter_node)});
    } else {
      shared_links.push_back({prefix + ".out", together(inter_node)});
      shared_links.push_back({prefix + ".in", together(inter_node)});
    }
  }
  add_host_links(*this, num_nodes());
}

Route Cluster::route(DeviceId src, DeviceId dst) const {
  assert(src != dst && index(src) < devices.size() && index(dst) < devices.size());
  const std::int32_t src_node = node_of(static_cast<std::int32_t>(src));
  const std::int32_t dst_node = node_of(static_cast<std::int32_t>(dst));
  const bool inside = src_node == dst_node;
  const Network& network = inside ? intra_node : inter_node;
  Route route{network.latency_ns, network.bytes_per_s, {}, network.half_duplex && !network.shared};
  if (network.shared && inside) route.shared = {links_of(*this, src_node).bus};
  if (network.shared && !inside) route.shared = {links_of(*this, src_node).out, links_of(*this, dst_node).in};
  return route;
}

Route Cluster::host_route(DeviceId device, bool to_host) const {
  assert(index(device) < devices.size() && host_link.bytes_per_s > 0);
  const std::int32_t node = node_of(static_cast<std::int32_t>(device));
  const std::int32_t place = place_in_node(*this, static_cast<std::int32_t>(device));
  const HostLinks links(*this);
  const std::int32_t first = num_nodes() * links_per_node(*this) + node * links.count();
  Route route{host_link.latency_ns, host_link.bytes_per_s, {}, false};
  if (links.switches > 0) {
    const std::int32_t way = links.ways == 1 || to_host ? 0 : 1;
    route.shared.push_back(first + place / host_link.devices_per_link * links.ways + way);
  }
  if (links.memory) route.shared.push_back(first + links.switches * links.ways);
  return route;
}

}  // namespace plumb
