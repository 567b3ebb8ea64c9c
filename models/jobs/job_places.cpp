#include "models/jobs/job_places.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

/// Returns a device as slow as the slowest rank of the place, with the memory of the smallest.
DeviceSpec device_of(const Cluster& cluster, const PlaceDevices& place) {
  const auto rate = [](const DeviceSpec& device) { return device.flops_per_s * device.compute_efficiency; };
  DeviceSpec slowest = cluster.devices[static_cast<std::size_t>(place.first)];
  double speed = slowest.speed;
  for (std::int64_t rank = place.first; rank < place.end(); ++rank) {
    const DeviceSpec& device = cluster.devices[static_cast<std::size_t>(rank)];
    speed = std::min(speed, device.speed * (rate(device) / rate(cluster.devices.front())));
    slowest.memory_bytes = std::min(slowest.memory_bytes, device.memory_bytes);
  }
  slowest.speed = speed;
  return slowest;
}

/// Nodes of a pipeline with as many places in each.
void set_even_nodes(const Cluster& cluster, const Parallelism& job, Cluster& pipeline) {
  const std::int64_t together = cluster.devices_per_node / job.devices_per_stage();
  pipeline.devices_per_node = static_cast<std::int32_t>(std::max<std::int64_t>(1, together));
  while (pipeline.devices.size() % static_cast<std::size_t>(pipeline.devices_per_node) != 0) {
    pipeline.devices.push_back(cluster.devices.front());
  }
}

void set_unlike_nodes(const Cluster& cluster, const std::vector<PlaceDevices>& places, Cluster& pipeline) {
  std::int64_t last = -1;
  for (const PlaceDevices& place : places) {
    const std::int64_t node = place.first / cluster.devices_per_node;
    pipeline.nodes.push_back((pipeline.nodes.empty() ? -1 : pipeline.nodes.back()) + (node == last ? 0 : 1));
    last = node;
    const auto together = static_cast<std::int32_t>(std::ranges::count(pipeline.nodes, pipeline.nodes.back()));
    pipeline.devices_per_node = std::max(pipeline.devices_per_node, together);
  }
}

/// Ranks of a node that share its card, bus or way to the host send at the same time.
void share_links(const Cluster& cluster, std::int64_t least_ranks, std::int64_t most_ranks, Cluster& pipeline) {
  const std::int64_t per_node = cluster.devices_per_node;
  const auto users = static_cast<double>(std::min(least_ranks, per_node));
  if (pipeline.inter_node.shared) pipeline.inter_node.bytes_per_s /= users;
  if (pipeline.intra_node.shared) pipeline.intra_node.bytes_per_s /= users;
  HostLink& host = pipeline.host_link;
  const std::int64_t sharing = std::min<std::int64_t>(most_ranks, host.devices_per_link);
  host.bytes_per_s /= static_cast<double>(sharing);
  host.host_bytes_per_s /= static_cast<double>(std::min(most_ranks, per_node));
  host.devices_per_link = static_cast<std::int32_t>(host.devices_per_link / sharing);
}

}  // namespace

std::vector<PlaceDevices> place_devices(const Cluster& cluster, const Parallelism& job, std::int32_t places) {
  const std::int64_t per_node = cluster.devices_per_node;
  std::vector<PlaceDevices> all;
  std::int64_t next = 0;
  for (std::int32_t place = 0; place < places; ++place) {
    const std::int64_t count = job.devices_of(place);
    const std::int64_t in_node = next % per_node;
    if (job.has_unlike_tensor() && in_node > 0 && in_node + count > per_node) next += per_node - in_node;
    all.push_back({next, count});
    next += count;
  }
  return all;
}

Cluster pipeline_of(const Cluster& cluster, const Parallelism& job, std::int32_t places) {
  if (job.has_unlike_tensor() && !cluster.contention.empty()) {
    throw Error("cluster '" + cluster.name +
                "': devices of a node slow each other down, expected the same tensor degree on every place");
  }
  Cluster pipeline;
  pipeline.name = cluster.name;
  pipeline.source = cluster.source;
  pipeline.intra_node = cluster.intra_node;
  pipeline.inter_node = cluster.inter_node;
  pipeline.host_link = cluster.host_link;
  pipeline.runtime = cluster.runtime;
  pipeline.contention = cluster.contention;
  const std::vector<PlaceDevices> all = place_devices(cluster, job, places);
  for (const PlaceDevices& place : all) pipeline.devices.push_back(device_of(cluster, place));
  std::int64_t least = job.devices_per_stage();  // the most of them
  for (const PlaceDevices& place : all) least = std::min(least, place.count);
  if (job.has_unlike_tensor()) {
    set_unlike_nodes(cluster, all, pipeline);
  } else {
    set_even_nodes(cluster, job, pipeline);
  }
  share_links(cluster, least, job.devices_per_stage(), pipeline);
  pipeline.finish();
  return pipeline;
}

void check_devices(const Cluster& cluster, const Parallelism& job, std::int32_t places) {
  if (job.has_unlike_tensor() && std::ssize(job.tensor_by_place) < places) {
    throw Error("parallelism: " + std::to_string(job.tensor_by_place.size()) +
                " tensor degrees, expected one for each of the " + std::to_string(places) + " pipeline ranks");
  }
  const std::vector<PlaceDevices> all = place_devices(cluster, job, places);
  const std::int64_t needed = all.empty() ? 0 : all.back().end();
  if (std::ssize(cluster.devices) >= needed) return;
  const std::string each = job.has_unlike_tensor()
                               ? "with unlike tensor degrees"
                               : "of tensor x context x data = " + std::to_string(job.devices_per_stage());
  throw Error("cluster '" + cluster.name + "': has " + std::to_string(cluster.devices.size()) +
              " devices, expected at least " + std::to_string(needed) + ": " + std::to_string(places) +
              " pipeline ranks " + each);
}

}  // namespace plumb
