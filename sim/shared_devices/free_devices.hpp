#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/shared_devices/job_problem.hpp"

namespace plumb {

/// The times from which devices are free, while jobs are placed one after another, each after what is there.
class FreeDevices {
 public:
  FreeDevices(std::int64_t nodes, std::int64_t per_node);

  std::size_t nodes() const { return free_.size(); }
  /// Returns the earliest start not before `from` on `node`; a choice of several nodes is placed on those that are free
  /// first.
  std::int64_t earliest(const JobChoice& choice, std::size_t node, std::int64_t from) const;
  /// Returns the earliest start on any node.
  std::int64_t earliest(const JobChoice& choice, std::int64_t from) const;
  /// Returns the node on which `choice` starts earliest; of several the one on which its devices wait least for it.
  std::size_t best_node(const JobChoice& choice, std::int64_t from) const;
  /// Returns the places it at its earliest start, on the devices that are free latest of those that are free by then.
  JobPlace place(const JobChoice& choice, std::size_t node, std::int64_t from);

  /// Keeps all devices from being used before `time`.
  void raise_to(std::int64_t time);
  /// Returns when devices get free, node by node, nodes and devices in an order that does not depend on their names.
  std::vector<std::int64_t> signature() const;
  /// Returns whether node `one` is free exactly as `other` is.
  bool alike(std::size_t one, std::size_t other) const;
  /// Returns when the last device gets free.
  std::int64_t last() const;

 private:
  struct FreeDevice {
    std::int64_t at = 0;
    std::int32_t device = 0;
  };
  using Node = std::vector<FreeDevice>;  ///< devices by time

  bool is_wide(const JobChoice& choice) const { return choice.devices > static_cast<std::int64_t>(free_[0].size()); }
  std::size_t nodes_of(const JobChoice& choice) const;
  /// Returns when nodes are free as a whole, ascending, and which.
  std::vector<std::pair<std::int64_t, std::size_t>> whole_nodes() const;
  std::int64_t wait(const JobChoice& choice, std::size_t node, std::int64_t start) const;

  std::vector<Node> free_;
};

}  // namespace plumb
