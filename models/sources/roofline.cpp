#include "models/sources/roofline.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "models/costs/reverses.hpp"
#include "models/costs/time_limits.hpp"
#include "models/ground/error.hpp"
#include "models/ground/units.hpp"
#include "models/layers/describe_layer.hpp"
#include "models/stages/network_costs.hpp"

namespace plumb {
namespace {

/// Rates that kernels reach on every device of a cluster, at speed 1.
struct ReachedRates {
  double flops_per_s = 0;
  double bytes_per_s = 0;
  std::int64_t launch_ns = 0;

  std::int64_t pass_ns(double flops, double bytes) const {
    if (flops == 0 && bytes == 0) return 0;
    const double seconds = std::max(flops / flops_per_s, bytes / bytes_per_s);
    return checked_ticks(seconds * kNsPerSecond, "roofline: a pass of a layer", kMostLayerTime) + launch_ns;
  }
  std::int64_t pass_ns(const PassFacts& pass) const {
    return pass_ns(pass.flops, static_cast<double>(pass.bytes_moved));
  }
};

ReachedRates reached_rates(const Cluster& cluster, std::int64_t launch_ns) {
  const DeviceSpec& first = cluster.devices.front();
  for (const DeviceSpec& device : cluster.devices) {
    const bool alike =
        device.flops_per_s == first.flops_per_s && device.memory_bytes_per_s == first.memory_bytes_per_s &&
        device.compute_efficiency == first.compute_efficiency && device.memory_efficiency == first.memory_efficiency;
    if (!alike) {
      throw Error("cluster '" + cluster.name +
                  "': devices have different rates, expected them to differ in speed only");
    }
  }
  if (!(first.flops_per_s > 0 && first.memory_bytes_per_s > 0)) {
    throw Error("cluster '" + cluster.name + "': expected a device with flops_per_s and memory_bytes_per_s above 0");
  }
  return {first.flops_per_s * first.compute_efficiency, first.memory_bytes_per_s * first.memory_efficiency, launch_ns};
}

struct LayerTimes {
  std::int64_t f_ns = 0;
  std::int64_t i_ns = 0;
  std::int64_t w_ns = 0;
};

LayerTimes times_of(const LayerSpec& layer, const ReachedRates& rates, const RooflineOptions& options) {
  if (layer.kind == LayerKind::kProfiled) return {layer.profiled.f_ns, layer.profiled.i_ns, layer.profiled.w_ns};
  if (layer.kind == LayerKind::kResidual) {
    // Every layer of the body is a kernel of its own; what is left is the addition.
    LayerTimes sum;
    PassFacts forward = describe(layer, options.shape, options.precision).forward;
    PassFacts backward = describe(layer, options.shape, options.precision).input_grad;
    for (const std::vector<LayerSpec>* branch : {&layer.body, &layer.shortcut}) {
      for (const LayerSpec& inner : *branch) {
        const LayerTimes part = times_of(inner, rates, options);
        const LayerFacts facts = describe(inner, options.shape, options.precision);
        sum = {sum.f_ns + part.f_ns, sum.i_ns + part.i_ns, sum.w_ns + part.w_ns};
        forward.bytes_moved -= facts.forward.bytes_moved;
        backward.bytes_moved -= facts.input_grad.bytes_moved;
      }
    }
    sum.f_ns += rates.pass_ns(0, static_cast<double>(forward.bytes_moved));
    sum.i_ns += rates.pass_ns(0, static_cast<double>(backward.bytes_moved));
    return sum;
  }
  const LayerFacts facts = describe(layer, options.shape, options.precision);
  return {rates.pass_ns(facts.forward), rates.pass_ns(facts.input_grad), rates.pass_ns(facts.weight_grad)};
}

/// Gradient read, updated weights and optimizer state read and written.
std::int64_t update_bytes(const StageMemory& memory) {
  return memory.gradient_bytes + 2 * memory.updated_bytes() + 2 * memory.optimizer_bytes;
}

}  // namespace

std::vector<std::int64_t> roofline_layer_times(const Network& network, const Cluster& cluster,
                                               const RooflineOptions& options) {
  const ReachedRates rates = reached_rates(cluster, options.launch_ns);
  std::vector<std::int64_t> times;
  for (const LayerSpec& layer : network.layers) {
    const LayerTimes one = times_of(layer, rates, options);
    times.push_back(one.f_ns + one.i_ns + one.w_ns);
  }
  return times;
}

StageCosts roofline_costs(const Network& network, const Partition& partition, const Cluster& cluster,
                          const RooflineOptions& options) {
  const ReachedRates rates = reached_rates(cluster, options.launch_ns);
  StageCosts costs = untimed_costs(network, partition, options.shape, options.precision);
  costs.from_network = true;
  costs.work.peak_flops_per_s = cluster.devices.front().flops_per_s;
  for (std::size_t s = 0; s < partition.num_stages(); ++s) {
    StageTimes& stage = costs.times[s];
    for (std::size_t k = partition.bounds[s]; k < partition.bounds[s + 1]; ++k) {
      const LayerTimes layer = times_of(network.layers[k], rates, options);
      stage.f += layer.f_ns;
      stage.i += layer.i_ns;
      stage.w += layer.w_ns;
      costs.layer_forward.push_back(layer.f_ns);
    }
    if (reverses(costs.memory[s])) stage.i += stage.f;
    stage.b = stage.i + stage.w;
    stage.r = stage.f;
    stage.u = rates.pass_ns(0, static_cast<double>(update_bytes(costs.memory[s])));
  }
  estimate_host_copies(costs, cluster);
  return costs;
}

}  // namespace plumb
