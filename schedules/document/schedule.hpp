#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "models/costs/vocabulary_stages.hpp"
#include "models/ground/units.hpp"
#include "schedules/document/action.hpp"
#include "schedules/document/device_list.hpp"
#include "schedules/document/extra_work.hpp"
#include "schedules/document/run_time_policy.hpp"
#include "schedules/document/weights.hpp"

namespace plumb {

/// Recompute the forward of stages [first, last] before their backward (folded into B or I).
struct Recompute {
  std::int32_t first_stage = 0;
  std::int32_t last_stage = 0;
  bool except_last_microbatch = false;
  std::vector<std::int32_t> microbatches{};  ///< empty: all
  bool segment = false;                      ///< keep only the input of the first stage

  friend bool operator==(const Recompute&, const Recompute&) = default;
};

struct Slices {
  enum class Axis : std::uint8_t { kSequence, kBatch };
  Axis axis = Axis::kSequence;
  std::vector<std::vector<std::int64_t>> lengths;  ///< one row for all microbatches, or one each

  friend bool operator==(const Slices&, const Slices&) = default;
};

/// An action that waits for another one. Between X of two devices it may carry the weights and gradients of stages.
struct ExtraEdge {
  Action before;
  Action after;
  std::vector<StageId> weights{};
  std::vector<StageId> gradients{};

  bool carries() const { return !weights.empty() || !gradients.empty(); }

  friend bool operator==(const ExtraEdge&, const ExtraEdge&) = default;
};

/// A schedule is data: who runs what, in which order. No times, no idle slots. (Document: schedules/document/FORMAT.md)
///
/// Stages are 0 .. num_stages-1; `placement[replica][stage]` lists the devices that hold the stage.
struct Schedule {
  using Parameter = std::variant<bool, std::int64_t, double, std::string>;

  std::string name;
  std::map<std::string, Parameter> parameters;
  std::int32_t num_devices = 0;
  std::int32_t num_stages = 0;
  std::int64_t num_microbatches = 0;                  ///< of the whole document: m x updates
  std::vector<std::int64_t> microbatches_per_update;  ///< one for all stages, or one per stage
  std::vector<std::vector<std::vector<DeviceId>>> placement;
  Weights weights;
  std::vector<DeviceList> devices;

  std::vector<std::vector<DeviceId>> reduce_groups;  ///< empty: all holders of a stage
  std::optional<Slices> slices;
  std::vector<std::int64_t> microbatch_sizes;  ///< empty: all equal
  std::vector<Recompute> recompute;
  std::optional<std::vector<std::pair<StageId, StageId>>> stage_edges;  ///< none: a chain
  /// Stages on different devices that are one block: their passes of a microbatch start together.
  std::vector<std::vector<StageId>> start_together;
  std::optional<VocabularyStages> vocabulary;  ///< none: embedding and head are layers like the others
  std::vector<ExtraEdge> extra_edges;
  std::map<std::string, ExtraWork> extras;  ///< by the name of the action, "X<n>"
  bool forward_only = false;                ///< `mode: forward`
  /// Devices decide at run time; `devices` is then the same work in a plain order (`work_of_policy`).
  std::optional<RunTimePolicy> policy;

  friend bool operator==(const Schedule&, const Schedule&) = default;

  /// Microbatches of one update of `stage`.
  std::int64_t per_update(StageId stage) const {
    return microbatches_per_update[microbatches_per_update.size() == 1 ? 0 : index(stage)];
  }
  /// The policy after all phases.
  WeightPolicy policy_of(StageId stage) const {
    return weights.per_stage.empty() ? weights.policy : weights.per_stage[index(stage)];
  }
  /// Whether it is flushed in every phase.
  bool is_synchronous(StageId stage) const {
    const auto flushes = [](const WeightPhase& phase) { return phase.policy == WeightPolicy::kFlush; };
    return policy_of(stage) == WeightPolicy::kFlush && std::ranges::all_of(weights.phases, flushes);
  }
  /// The policy for the microbatches of `update`.
  WeightPolicy policy_of(StageId stage, std::int64_t update) const {
    return weights.phase_policy(update).value_or(policy_of(stage));
  }
};

/// Whether every stage gives its output to the next one only.
bool is_chain(const Schedule& schedule);

/// Stages that start together with others: shares of blocks of several devices at once.
std::vector<StageId> shares_of_blocks(const Schedule& schedule);

/// The device that runs `microbatch` of a stage: replicated stages take microbatches round robin.
inline DeviceId device_of(const Schedule& schedule, ReplicaId replica, StageId stage, std::int64_t microbatch) {
  const auto& devices = schedule.placement[index(replica)][index(stage)];
  return devices[devices.size() == 1 ? 0 : static_cast<std::size_t>(microbatch) % devices.size()];
}

}  // namespace plumb
