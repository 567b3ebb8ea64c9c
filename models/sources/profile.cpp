#include "models/sources/profile.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "models/ground/error.hpp"
#include "models/stages/network_costs.hpp"

namespace plumb {
namespace {

/// What each pass of a stage adds to its times.
void add_times(const ProfiledTimes& part, StageTimes& stage) {
  const auto or_else = [](const Measured& measured, std::int64_t otherwise) {
    return measured.count > 0 ? measured.expected_ns() : otherwise;
  };
  stage.f += part.f.expected_ns();
  stage.i += part.i.expected_ns();
  stage.w += part.w.expected_ns();
  stage.b += or_else(part.b, part.i.expected_ns() + part.w.expected_ns());
  stage.r += or_else(part.r, part.f.expected_ns());
  stage.u += part.u.expected_ns();
  stage.evict += part.evict.expected_ns();
  stage.load += part.load.expected_ns();
}

/// Returns the stage that has exactly `range`, if any.
const ProfiledTimes* same_stage(const std::vector<ProfiledTimes>& stages, LayerRange range) {
  const auto at =
      std::find_if(stages.begin(), stages.end(), [&](const ProfiledTimes& stage) { return stage.layers == range; });
  return at == stages.end() ? nullptr : &*at;
}

/// Moves the times of the passes over a microbatch towards `crowded`: how far goes with `in_flight`.
void crowd(const ProfiledTimes& calm, const ProfiledTimes& crowded, std::int64_t in_flight, StageTimes& times) {
  if (crowded.in_flight <= calm.in_flight) return;
  const double share = std::clamp(
      static_cast<double>(in_flight - calm.in_flight) / static_cast<double>(crowded.in_flight - calm.in_flight), 0.0,
      1.0);
  StageTimes other;
  add_times(crowded, other);
  for (Ticks StageTimes::*pass : {&StageTimes::f, &StageTimes::b, &StageTimes::i, &StageTimes::w, &StageTimes::r}) {
    times.*pass += std::llround(share * static_cast<double>(other.*pass - times.*pass));
  }
}

StageTimes times_of(const Profile& profile, LayerRange range, std::int64_t in_flight) {
  StageTimes times;
  if (const ProfiledTimes* stage = same_stage(profile.stages, range)) {
    add_times(*stage, times);
    if (const ProfiledTimes* crowded = same_stage(profile.crowded, range)) crowd(*stage, *crowded, in_flight, times);
    return times;
  }
  if (profile.layers.empty()) {
    throw Error("profile of '" + profile.network + "': has no times for layers " + std::to_string(range.begin) +
                " to " + std::to_string(range.end) + ", expected the profiled partition " +
                to_string(profiled_partition(profile)) + " or a profile with layer times");
  }
  for (std::size_t k = range.begin; k < range.end; ++k) add_times(profile.layers[k], times);
  return times;
}

}  // namespace

Partition profiled_partition(const Profile& profile) {
  Partition partition{{0}};
  for (const ProfiledTimes& stage : profile.stages) partition.bounds.push_back(stage.layers.end);
  return partition;
}

StageCosts profile_costs(const Profile& profile, const Network& network, const Partition& partition,
                         std::span<const std::int64_t> in_flight) {
  const std::size_t num_layers = profiled_partition(profile).num_layers();
  if (profile.network != network.name || num_layers != network.layers.size()) {
    throw Error("profile: is of '" + profile.network + "' with " + std::to_string(num_layers) + " layers, expected '" +
                network.name + "' with " + std::to_string(network.layers.size()));
  }
  if (partition.num_layers() != num_layers) {
    throw Error("partition: has " + std::to_string(partition.num_layers()) + " layers, the profile " +
                std::to_string(num_layers));
  }
  StageCosts costs = untimed_costs(network, partition, profile.shape, profile.precision);
  costs.from_network = true;
  for (const ProfiledTimes& layer : profile.layers) costs.layer_forward.push_back(layer.f.expected_ns());
  for (std::size_t s = 0; s < partition.num_stages(); ++s) {
    costs.times[s] = times_of(profile, partition.range(s), s < in_flight.size() ? in_flight[s] : 0);
  }
  return costs;
}

Cluster profile_cluster(const Profile& profile, std::int32_t num_devices, std::int64_t message_bytes) {
  Cluster cluster;
  cluster.name = profile.machine;
  cluster.source = "profile of '" + profile.network + "'";
  cluster.devices.assign(static_cast<std::size_t>(num_devices), DeviceSpec{.name = profile.machine});
  cluster.devices_per_node = num_devices;
  cluster.contention = profile.contention;
  const auto distance = [&](const ProfiledTransfer& transfer) { return std::abs(transfer.bytes - message_bytes); };
  const auto nearest =
      std::min_element(profile.transfers.begin(), profile.transfers.end(),
                       [&](const ProfiledTransfer& a, const ProfiledTransfer& b) { return distance(a) < distance(b); });
  if (nearest != profile.transfers.end()) {
    cluster.intra_node = {nearest->latency_ns, nearest->bytes_per_s, false, false};
  }
  cluster.finish();
  return cluster;
}

}  // namespace plumb
