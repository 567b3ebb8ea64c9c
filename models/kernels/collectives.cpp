#include "models/kernels/collectives.hpp"
#include "models/ground/units.hpp"

#include <algorithm>
#include <cmath>

namespace plumb {
namespace {

double per_byte(const LinkRate& link) { return link.bytes_per_s > 0 ? 1 / link.bytes_per_s : 0; }

double best_inside_one_network(CollectiveOp op, std::int64_t ranks, double bytes, const LinkRate& link) {
  return std::min(ring_seconds(op, ranks, bytes, link), tree_seconds(op, ranks, bytes, link));
}

double inside_one_node(CollectiveOp op, const DeviceGroup& group, double bytes) {
  const double best = best_inside_one_network(op, group.per_node, bytes, group.inside);
  return group.switch_reduces ? std::min(best, switch_seconds(op, group.per_node, bytes, group.inside)) : best;
}

/// Every pair exchanges directly, inside and between nodes at once.
double all_to_all_seconds(const DeviceGroup& group, double bytes) {
  const auto all = static_cast<double>(group.size());
  const auto near = static_cast<double>(group.per_node);
  const double inside = (near - 1) * group.inside.latency_s + (near - 1) / all * bytes * per_byte(group.inside);
  const double between = (all - near) * group.between.latency_s + (all - near) / all * bytes * per_byte(group.between);
  return std::max(inside, between);
}

}  // namespace

double ring_seconds(CollectiveOp op, std::int64_t ranks, double bytes, const LinkRate& link) {
  if (ranks < 2) return 0;
  const auto steps = static_cast<double>(ranks - 1);
  const double share = steps / static_cast<double>(ranks) * bytes * per_byte(link);
  switch (op) {
    case CollectiveOp::kAllReduce:
      return 2 * steps * link.latency_s + 2 * share;
    case CollectiveOp::kBroadcast:
      return steps * link.latency_s + bytes * per_byte(link);
    default:
      return steps * link.latency_s + share;
  }
}

double tree_seconds(CollectiveOp op, std::int64_t ranks, double bytes, const LinkRate& link) {
  if (ranks < 2) return 0;
  const double depth = std::ceil(std::log2(static_cast<double>(ranks)));
  switch (op) {
    case CollectiveOp::kAllReduce:
      return 2 * depth * link.latency_s + 2 * bytes * per_byte(link);
    case CollectiveOp::kBroadcast:
      return depth * link.latency_s + bytes * per_byte(link);
    default:
      return ring_seconds(op, ranks, bytes, link);
  }
}

double switch_seconds(CollectiveOp op, std::int64_t ranks, double bytes, const LinkRate& link) {
  if (ranks < 2 || op != CollectiveOp::kAllReduce) return ring_seconds(op, ranks, bytes, link);
  return 2 * link.latency_s + (1 + 1 / static_cast<double>(ranks)) * bytes * per_byte(link);
}

DeviceGroup device_group(const Cluster& cluster, std::int64_t size, std::int64_t stride) {
  const std::int64_t per_node = std::max<std::int64_t>(1, cluster.devices_per_node);
  DeviceGroup group;
  group.per_node = std::clamp<std::int64_t>(per_node / std::max<std::int64_t>(1, stride), 1, size);
  group.nodes = (size + group.per_node - 1) / group.per_node;
  const auto rate = [](const Cluster::Network& network, std::int64_t users) {
    const double shared_by = network.shared ? static_cast<double>(users) : 1;
    return LinkRate{static_cast<double>(network.latency_ns) / kNsPerSecond, network.bytes_per_s / shared_by};
  };
  group.inside = rate(cluster.intra_node, per_node);
  group.between = rate(cluster.inter_node, per_node);
  return group;
}

double collective_seconds(CollectiveOp op, const DeviceGroup& group, double bytes) {
  if (group.size() < 2) return 0;
  if (group.nodes == 1) return inside_one_node(op, group, bytes);
  if (op == CollectiveOp::kAllToAll) return all_to_all_seconds(group, bytes);
  const double part = bytes / static_cast<double>(group.per_node);
  const double between = best_inside_one_network(op, group.nodes, part, group.between);
  switch (op) {
    case CollectiveOp::kAllReduce:
      return ring_seconds(CollectiveOp::kReduceScatter, group.per_node, bytes, group.inside) + between +
             ring_seconds(CollectiveOp::kAllGather, group.per_node, bytes, group.inside);
    case CollectiveOp::kBroadcast:
      return tree_seconds(op, group.nodes, bytes, group.between) +
             tree_seconds(op, group.per_node, bytes, group.inside);
    default:
      return between + ring_seconds(op, group.per_node, bytes, group.inside);
  }
}

}  // namespace plumb
