#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/ground/units.hpp"

namespace plumb {

struct Program;
struct Schedule;

/// How often each value occurs: of a delay in updates, or of a distance in microbatches.
using DelayCounts = std::map<std::int64_t, std::int64_t>;

/// Mean of what was counted; 0 when nothing was.
double mean_delay(const DelayCounts& counts);

/// How old the weights are that a stage computes with, on one of its holders.
///
/// The gradient of a microbatch is applied to version vA: the newest when its backward ends, or one later where the
/// gradients before it wait for their U by then (REDUCE_GRAD). A pass that read version v used weights vA - v updates
/// old (PipeMare's tau, arXiv 1910.05124). Counted over whole updates, once the pipeline is full: without the updates
/// of a flushed phase and those with a microbatch that some stage takes forward before its first backward after the
/// phase. If no update is left, all are counted.
struct StageDelays {
  ReplicaId replica{};
  StageId stage{};
  DeviceId device{};
  /// Backwards of other microbatches between a microbatch's forward and its backward (D). If microbatches are cut
  /// into slices, slices are counted.
  DelayCounts distance;
  DelayCounts forward;
  DelayCounts backward;
  DelayCounts recompute;      ///< of a forward that is recomputed; empty if none is
  DelayCounts teacher;        ///< of the newest weights that the mean of its teacher has; empty if there is none
  std::int64_t versions = 1;  ///< of the weights, alive at once, the newest included
  std::int64_t copies = 1;    ///< of the weights: versions and the buffers of corrections
  std::int64_t bytes = 0;     ///< of these copies; 0 if memory is not modelled

  friend bool operator==(const StageDelays&, const StageDelays&) = default;
};

/// By replica, then stage, then device; computed from the order of actions and updates in the lanes of `program`, which
/// is `schedule`, lowered.
std::vector<StageDelays> stage_delays(const Schedule& schedule, const Program& program);

/// Whether every holder has an update that is counted because the pipeline is full; otherwise some of `stage_delays`
/// count all updates, and so depend on how many there are.
bool reaches_steady_state(const Schedule& schedule, const Program& program);

}  // namespace plumb
