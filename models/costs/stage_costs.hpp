#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/cluster/runtime_costs.hpp"
#include "models/costs/pair_times.hpp"
#include "models/costs/part.hpp"
#include "models/costs/stage_memory.hpp"
#include "models/ground/units.hpp"

namespace plumb {

struct Cluster;

/// Kept of a microbatch between forward and backward: the input if it is kept, and (not `input_only`) what F makes.
std::int64_t kept_bytes(const StageMemory& memory, bool input_only);

/// Times of one stage's actions on a device of speed 1, for one microbatch.
struct StageTimes {
  Ticks f = 0;
  Ticks b = 0;  ///< fused backward, I + W unless measured apart
  Ticks i = 0;
  Ticks w = 0;
  Ticks r = 0;        ///< recompute
  CommTime f_comm{};  ///< within f, and within r
  CommTime b_comm{};
  CommTime i_comm{};
  CommTime w_comm{};
  PairTimes pairs{};
  Ticks u = 0;      ///< optimizer update, per update
  Ticks x = 0;      ///< extra work, per unit
  Ticks evict = 0;  ///< copy of a stash (or of the weights of the stage) to another memory; `load`: back
  Ticks load = 0;
  Ticks all_reduce = 0;  ///< reduction of the stage's gradients between its holders (0: the link model gives it)

  friend bool operator==(const StageTimes&, const StageTimes&) = default;
};

/// Lists the times that are counted per microbatch: all but u x evict load all_reduce.
std::vector<Ticks*> times_per_microbatch(StageTimes& times);

/// Lists the figures of `memory` that are counted per microbatch, beside its stash.
std::vector<std::int64_t*> bytes_per_microbatch(StageMemory& memory);

/// `memory` for a part of the microbatch: what is counted per microbatch in proportion to the part's length.
StageMemory share_of(const Part& part, StageMemory memory);

/// Work of one microbatch through the network, for throughput and model-FLOPs utilization. 0: unknown.
struct WorkUnits {
  std::int64_t samples_per_microbatch = 0;
  std::int64_t tokens_per_microbatch = 0;
  double model_flops_per_microbatch = 0;  ///< F + I + W of the whole network, without recompute
  double peak_flops_per_s = 0;            ///< peak of one device
};

/// One parameter that lives in two stages (a language-model head tied to the embedding). Its gradients are summed
/// over both before the update.
struct TiedWeight {
  StageId first{};
  StageId second{};
  std::int64_t bytes = 0;

  friend bool operator==(const TiedWeight&, const TiedWeight&) = default;
};

/// Costs of one stage for a part of a microbatch.
struct PartCosts {
  StageTimes times;    ///< what is counted per microbatch (`times_per_microbatch`)
  StageMemory memory;  ///< what is counted per microbatch
};

/// What every action costs: what networks, clusters, partitions and profiles are turned into.
struct StageCosts {
  Timebase base;
  std::vector<StageTimes> times;    ///< by stage
  std::vector<StageMemory> memory;  ///< by stage; empty when memory is not modelled

  /// Latency of every message between devices (abstract `comm`). It occupies no device and replaces the link model.
  /// Without a value, transfers use the links of the cluster.
  std::optional<Ticks> comm;

  /// Bytes of `StageMemory` are abstract units times this (abstract `--memory`, decimals); 0 for real bytes.
  std::int64_t memory_units_per_one = 0;

  RuntimeCosts runtime;
  std::int64_t message_bytes = 0;  ///< bytes of every message; 0: as large as what the stages hand over
  std::vector<TiedWeight> tied;
  WorkUnits work;

  /// Times come from a network (a job or a profile). Moves then take what their bytes take on the links of the
  /// cluster, and extra work takes what the document declares. `evict` and `load` are the times of a stash that is
  /// copied to the host alone, for generators that plan moves; `x` has no meaning.
  bool from_network = false;
  std::vector<Ticks> layer_forward;  ///< times of every layer of the network; empty: not known

  /// Costs of a stage for `part`, whose times for a whole microbatch are `times`. None: in proportion to the length.
  std::function<PartCosts(StageId stage, const Part& part, const StageTimes& times)> part;
};

/// Fills in `evict` and `load` of costs that come from a network: the time of a stash that is copied alone over the
/// cluster's link to the host. Does nothing if that link is not modelled.
void estimate_host_copies(StageCosts& costs, const Cluster& cluster);

}  // namespace plumb
