#include "models/jobs/job_places.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "models/ground/error.hpp"

namespace plumb {

Cluster pipeline_of(const Cluster& cluster, const Parallelism& job, std::int32_t places) {
  const std::int64_t ranks = job.devices_per_stage();
  const std::int64_t per_node = cluster.devices_per_node;
  Cluster pipeline;
  pipeline.name = cluster.name;
  pipeline.source = cluster.source;
  pipeline.intra_node = cluster.intra_node;
  pipeline.inter_node = cluster.inter_node;
  pipeline.host_link = cluster.host_link;
  pipeline.runtime = cluster.runtime;
  pipeline.contention = cluster.contention;
  pipeline.devices_per_node = static_cast<std::int32_t>(std::max<std::int64_t>(1, per_node / ranks));
  const auto together = static_cast<std::size_t>(pipeline.devices_per_node);
  const auto rate = [](const DeviceSpec& device) { return device.flops_per_s * device.compute_efficiency; };
  const DeviceSpec& first = cluster.devices.front();
  for (std::int32_t place = 0; place < places; ++place) {
    DeviceSpec slowest = cluster.devices[static_cast<std::size_t>(place * ranks)];
    double speed = slowest.speed;
    for (std::int64_t rank = place * ranks; rank < (place + 1) * ranks; ++rank) {
      const DeviceSpec& device = cluster.devices[static_cast<std::size_t>(rank)];
      speed = std::min(speed, device.speed * (rate(device) / rate(first)));
      slowest.memory_bytes = std::min(slowest.memory_bytes, device.memory_bytes);
    }
    slowest.speed = speed;
    pipeline.devices.push_back(std::move(slowest));
  }
  while (pipeline.devices.size() % together != 0) pipeline.devices.push_back(first);
  // Ranks of a node that share its card, bus or way to the host send at the same time.
  const auto users = static_cast<double>(std::min(ranks, per_node));
  if (pipeline.inter_node.shared) pipeline.inter_node.bytes_per_s /= users;
  if (pipeline.intra_node.shared) pipeline.intra_node.bytes_per_s /= users;
  HostLink& host = pipeline.host_link;
  const std::int64_t sharing = std::min<std::int64_t>(ranks, host.devices_per_link);
  host.bytes_per_s /= static_cast<double>(sharing);
  host.host_bytes_per_s /= users;
  host.devices_per_link = static_cast<std::int32_t>(host.devices_per_link / sharing);
  pipeline.finish();
  return pipeline;
}

void check_devices(const Cluster& cluster, const Parallelism& job, std::int32_t places) {
  const std::int64_t needed = places * job.devices_per_stage();
  if (cluster.devices.size() >= static_cast<std::size_t>(needed)) return;
  throw Error("cluster '" + cluster.name + "': has " + std::to_string(cluster.devices.size()) +
              " devices, expected at least " + std::to_string(needed) + ": " + std::to_string(places) +
              " pipeline ranks of tensor x context x data = " + std::to_string(job.devices_per_stage()));
}

}  // namespace plumb
