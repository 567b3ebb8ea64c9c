#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/cluster/contention.hpp"
#include "models/cluster/runtime_costs.hpp"
#include "models/ground/units.hpp"

namespace plumb {

/// One device. Rates are peaks; `efficiency` says which share of them real kernels reach.
struct DeviceSpec {
  std::string name;                 ///< "A100-SXM4-80GB"
  double flops_per_s = 0;           ///< dense, in the type that the network computes in
  double memory_bytes_per_s = 0;    ///< bandwidth of its own memory
  std::int64_t memory_bytes = 0;    ///< 0: not limited
  double compute_efficiency = 1.0;  ///< reachable share of flops_per_s, (0, 1]
  double memory_efficiency = 1.0;   ///< reachable share of memory_bytes_per_s, (0, 1]
  double speed = 1.0;               ///< straggler factor: times are divided by it
  double jitter = 0.0;              ///< standard deviation of an action's time, relative to it
  double price_per_hour = 0.0;      ///< in any currency; 0: not known

  friend bool operator==(const DeviceSpec&, const DeviceSpec&) = default;
};

/// A bottleneck that several device pairs share, such as a node's network card in one direction.
struct SharedLink {
  std::string name;
  double bytes_per_s = 0;

  friend bool operator==(const SharedLink&, const SharedLink&) = default;
};

/// How bytes get from one device to another: `latency_ns + bytes / bytes_per_s` when alone.
struct Route {
  std::int64_t latency_ns = 0;
  double bytes_per_s = 0;            ///< bandwidth of the narrowest part; infinite when 0
  std::vector<std::int32_t> shared;  ///< indices into `Cluster::shared_links`; empty: the pair has its own link
  /// Half duplex: both directions of the pair take turns on one link.
  bool half_duplex = false;

  friend bool operator==(const Route&, const Route&) = default;
};

/// How bytes get from a device to the memory of its node's host and back: what EVICT and LOAD `@host` take.
struct HostLink {
  std::int64_t latency_ns = 0;
  double bytes_per_s = 0;    ///< bandwidth of one device, each way; 0: not modelled, copies take no time
  bool half_duplex = false;  ///< both ways share the link
  /// This many neighbours of a node share one switch, whose link to the host is no faster than that of one of
  /// them.
  std::int32_t devices_per_link = 1;
  double host_bytes_per_s = 0;  ///< bandwidth of the host's memory, for all copies of a node together; 0: no bottleneck

  friend bool operator==(const HostLink&, const HostLink&) = default;
};

/// Devices in nodes: a link inside a node, one (or several) network cards between nodes, a link to each node's host.
/// JSON form and presets: models/cluster/CLUSTER_DOCUMENT.md.
struct Cluster {
  struct Network {
    std::int64_t latency_ns = 0;
    double bytes_per_s = 0;
    /// Pairs share it: inside a node one bus, between nodes the node's cards (one bottleneck out, one in).
    bool shared = false;
    bool half_duplex = false;
    double shared_bytes_per_s = 0;  ///< bandwidth of what is shared; 0: as fast as one pair

    friend bool operator==(const Network&, const Network&) = default;
  };

  std::string name;
  std::string source;                 ///< where the figures come from
  std::vector<DeviceSpec> devices;    ///< node by node
  std::int32_t devices_per_node = 1;  ///< devices of a node; where nodes are unlike, the most
  /// By device: its node, from 0 in order, where nodes have unlike numbers of devices; empty: as many in each.
  std::vector<std::int32_t> nodes;
  Network intra_node;
  Network inter_node;
  HostLink host_link;
  RuntimeCosts runtime;                  ///< costs of what runs schedules there, where costs have none of their own
  Contention contention;                 ///< between devices of a node; empty: there is none
  std::vector<SharedLink> shared_links;  ///< filled by `finish()`

  std::int32_t node_of(std::int32_t device) const {
    return nodes.empty() ? device / devices_per_node : nodes[static_cast<std::size_t>(device)];
  }
  std::int32_t num_nodes() const {
    return nodes.empty() ? static_cast<std::int32_t>(devices.size()) / devices_per_node : nodes.back() + 1;
  }

  /// Derives `shared_links` from the networks. Call once after the fields are set.
  void finish();

  /// Returns the way from `src` to `dst` (different devices).
  Route route(DeviceId src, DeviceId dst) const;

  /// Returns the way from `device` to its host, or back. Requires a modelled host link.
  Route host_route(DeviceId device, bool to_host) const;
};

}  // namespace plumb
