#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/cluster/cluster.hpp"
#include "models/costs/stage_costs.hpp"
#include "models/network/network.hpp"
#include "models/stages/partition.hpp"

namespace plumb {

/// A time that was measured `count` times. `count` 0: not measured.
struct Measured {
  std::int64_t median_ns = 0;
  std::int64_t p10_ns = 0;
  std::int64_t p90_ns = 0;
  std::int64_t count = 0;
  std::int64_t mean_ns = 0;  ///< mean of many in a row; 0: not known

  /// Returns the value to add up: the mean, or the median if no mean is known.
  std::int64_t expected_ns() const { return mean_ns > 0 ? mean_ns : median_ns; }

  friend bool operator==(const Measured&, const Measured&) = default;
};

/// Times of a run of layers for one microbatch.
struct ProfiledTimes {
  LayerRange layers;           ///< in the chain of the network
  std::int64_t in_flight = 0;  ///< microbatches between forward and backward meanwhile, at most; 0: not known
  Measured f;
  Measured b;  ///< fused backward; not measured: I + W
  Measured i;
  Measured w;
  Measured r;      ///< recompute; not measured: F
  Measured u;      ///< optimizer update
  Measured evict;  ///< a microbatch's stash on its way to the host, and back; not measured: no time
  Measured load;

  friend bool operator==(const ProfiledTimes&, const ProfiledTimes&) = default;
};

/// What messages between devices cost: `latency_ns + bytes / bytes_per_s`, fitted near `bytes`.
struct ProfiledTransfer {
  std::int64_t bytes = 0;
  std::int64_t latency_ns = 0;
  double bytes_per_s = 0;

  friend bool operator==(const ProfiledTransfer&, const ProfiledTransfer&) = default;
};

/// What `plumbline profile` measured on one machine (document: models/sources/COSTS.md).
struct Profile {
  std::string machine;  ///< "Intel Xeon ..., 2 threads"
  std::string backend;  ///< "cpu", "cuda"
  std::string network;  ///< name of the network
  MicrobatchShape shape;
  Precision precision;
  std::vector<ProfiledTimes> stages;        ///< times of the profiled partition, in order, covering all layers
  std::vector<ProfiledTimes> crowded;       ///< optional: the same stages with more microbatches in flight
  std::vector<ProfiledTimes> layers;        ///< optional: one layer each, for the costs of other partitions
  std::vector<ProfiledTransfer> transfers;  ///< by ascending bytes
  /// Fitted between the devices of the machine; the times above are then those of actions that run alone.
  Contention contention = {};

  friend bool operator==(const Profile&, const Profile&) = default;
};

/// Reads a profile document. Throws `Error` with line, column and path.
Profile profile_from_json(std::string_view text, std::string_view file_name);

/// Returns the document of `profile`.
std::string profile_to_json(const Profile& profile);

/// Returns the partition that was profiled.
Partition profiled_partition(const Profile& profile);

/// Costs of the stages of `partition` from expected times: those of the profiled stages when the partitions are equal,
/// sums over its layers otherwise. Memory, tied weights and work come from `network`. Throws `Error` when the network's
/// name or number of layers differs, or the partition needs times that the profile does not have.
///
/// If many microbatches are in flight, their activations have left the caches when they are read again. So with
/// `in_flight` (by stage: microbatches between forward and backward, at most) the times of F, B, I, W and R are
/// interpolated between those of `stages` and `crowded`, and never extrapolated.
StageCosts profile_costs(const Profile& profile, const Network& network, const Partition& partition,
                         std::span<const std::int64_t> in_flight = {});

/// Returns the devices connected pairwise by links of their own, with the transfer figures measured nearest to
/// `message_bytes` (free transfers when none were measured).
Cluster profile_cluster(const Profile& profile, std::int32_t num_devices, std::int64_t message_bytes);

}  // namespace plumb
