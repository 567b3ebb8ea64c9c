#include "models/cluster/speed_only.hpp"

namespace plumb {

Cluster with_speeds_only(Cluster cluster) {
  const auto rate = [](const DeviceSpec& device) { return device.flops_per_s * device.compute_efficiency; };
  const DeviceSpec first = cluster.devices.front();
  for (DeviceSpec& device : cluster.devices) {
    device.speed *= rate(device) / rate(first);
    device.flops_per_s = first.flops_per_s;
    device.memory_bytes_per_s = first.memory_bytes_per_s;
    device.compute_efficiency = first.compute_efficiency;
    device.memory_efficiency = first.memory_efficiency;
  }
  return cluster;
}

}  // namespace plumb
