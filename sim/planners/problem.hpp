#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "models/cluster/cluster.hpp"
#include "models/ground/named_option.hpp"
#include "models/import/published_network.hpp"

namespace plumb {

/// Parts of one kind that are joined by one kind of link: devices in a node, nodes in a cluster.
struct MachineLevel {
  std::int32_t count = 1;
  double bytes_per_s = 0;
};

/// Tells a planner that its time is over.
struct StopSign {
  std::function<bool()> asked{};  ///< none: never

  /// Throws `Error` when the time is over. Cheap enough to be asked between steps that take microseconds.
  void check() const;
};

/// The question to a planner.
struct PlanProblem {
  PublishedNetwork network;
  std::vector<MachineLevel> levels;                 ///< innermost first, at least one; devices are their product
  std::vector<double> speed = {};                   ///< by device, 1 is that of the profile; empty: all 1
  std::int64_t memory_bytes = 0;                    ///< of a device, of unlike ones the least; 0: no limit
  std::vector<std::int64_t> memory_by_device = {};  ///< 0: no limit; empty: all `memory_bytes`
  std::int64_t microbatches = 8;                    ///< per update of the whole job
  OptionTexts options = {};                         ///< of the method
  StopSign stop = {};                               ///< looked at by every planner whose program can take long

  std::int32_t num_devices() const;
  double speed_of(std::int32_t device) const;
  std::int64_t memory_of(std::int32_t device) const;
  /// Of the narrowest link that `devices` neighbouring devices need between them.
  double bytes_per_s_between(std::int32_t devices) const;
  /// An option such as "8-8-16": a whole number from 1 to `most` for every device; `otherwise` where it is not given.
  /// Throws `Error`.
  std::vector<std::int64_t> number_of_each(std::string_view option, std::int64_t otherwise, std::int64_t most) const;
};

/// The largest number that an option of a planner takes, where nothing else bounds it.
inline constexpr double kMostPlannerNumber = 1e18;

/// The levels of `cluster`: devices of a node and, with several, nodes.
std::vector<MachineLevel> levels_of(const Cluster& cluster);

/// Throws `Error` when the problem has no layers, no devices, or no bandwidth where several devices must talk.
void check_problem(const PlanProblem& problem);

}  // namespace plumb
