#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/cluster/runtime_costs.hpp"
#include "models/costs/pair_times.hpp"
#include "models/costs/part.hpp"
#include "models/ground/units.hpp"

namespace plumb {

struct Cluster;

/// Last pass that reads a tensor made by the forward: the forward itself, I or W.
enum class LastUse : std::uint8_t { kForward, kInputGrad, kWeightGrad };

/// One tensor (or group of equal life) that a stage keeps for one microbatch between its passes.
struct StashTensor {
  enum class MadeBy : std::uint8_t { kForward, kInputGrad };

  std::string name;  ///< "layer3.mlp.gelu_in"
  std::int64_t bytes = 0;
  MadeBy made_by = MadeBy::kForward;
  LastUse last_use = LastUse::kInputGrad;  ///< kInputGrad or kWeightGrad; made by I implies kWeightGrad

  friend bool operator==(const StashTensor&, const StashTensor&) = default;
};

/// Bytes of one stage on one device. Every figure is per microbatch unless it says otherwise.
///
/// The simulator's memory curve and the trainer's arena both follow `schedules/program/program.hpp`, "Life of a
/// buffer", with these sizes; that is why predicted and measured peaks are equal to the byte.
struct StageMemory {
  // Whole run.
  std::int64_t weight_bytes = 0;     ///< one version of all parameters of the stage
  std::int64_t frozen_bytes = 0;     ///< of these, parameters that no update changes; copies on one device share them
  std::int64_t gradient_bytes = 0;   ///< gradient accumulators
  std::int64_t optimizer_bytes = 0;  ///< state of the optimizer (master weights included)

  // Between passes.
  std::vector<StashTensor> stash = {};  ///< without the stage's input
  /// Sequence slices: sums of the gradients of keys and values, which themselves are as large. The backward (B or I) of
  /// the last slice makes those of all slices before it; the backward of each of these frees its own.
  std::int64_t key_grads_made_bytes = 0;
  std::int64_t key_grads_freed_bytes = 0;
  std::int64_t input_bytes = 0;  ///< value received from the previous stage (0 on the first stage)
  LastUse input_last_use = LastUse::kForward;
  std::int64_t output_bytes = 0;       ///< value handed to the next stage (0 on the last stage)
  std::int64_t output_grad_bytes = 0;  ///< gradient received from the next stage; freed at the end of I
  std::int64_t input_grad_bytes = 0;   ///< gradient handed to the previous stage
  /// What a link carries of output and gradient of the input, where neighbouring stages have unlike tensor degrees and
  /// the ranks of one of them send or receive more than they hold or keep. 0: the value itself.
  std::int64_t sent_output_bytes = 0;
  std::int64_t sent_input_grad_bytes = 0;
  std::int64_t logit_bytes = 0;  ///< what the head makes its loss of (0 on all stages but the last)

  // Inside one action.
  std::int64_t workspace_f_bytes = 0;
  std::int64_t workspace_b_bytes = 0;  ///< fused backward: includes what I makes for W, layer by layer
  std::int64_t workspace_i_bytes = 0;
  std::int64_t workspace_w_bytes = 0;
  std::int64_t workspace_u_bytes = 0;

  /// Of the message to the next stage, or `backward` of that to the one before.
  std::int64_t message_bytes(bool backward) const {
    const std::int64_t sent = backward ? sent_input_grad_bytes : sent_output_bytes;
    return sent > 0 ? sent : backward ? input_grad_bytes : output_bytes;
  }
  std::int64_t updated_bytes() const { return weight_bytes - frozen_bytes; }  ///< of a version of the weights
  friend bool operator==(const StageMemory&, const StageMemory&) = default;
};

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

/// Those of `times` that are counted per microbatch: all but u x evict load all_reduce.
std::vector<Ticks*> times_per_microbatch(StageTimes& times);

/// Work of one microbatch through the network, for throughput and model-FLOPs utilization. 0: unknown.
struct WorkUnits {
  std::int64_t samples_per_microbatch = 0;
  std::int64_t tokens_per_microbatch = 0;
  double model_flops_per_microbatch = 0;  ///< F + I + W of the whole network, without recompute
  double peak_flops_per_s = 0;            ///< of one device
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
  std::int64_t message_bytes = 0;  ///< of every message; 0: as large as what the stages hand over
  std::vector<TiedWeight> tied;
  WorkUnits work;

  /// Times come from a network (roofline or profile). Moves then take what their bytes take on the links of the
  /// cluster, and extra work takes what the document declares. `evict` and `load` are the times of a stash that is
  /// copied to the host alone, for generators that plan moves; `x` has no meaning.
  bool from_network = false;
  std::vector<Ticks> layer_forward;  ///< of every layer of the network; empty: not known

  /// Costs of a stage for `part`, whose times for a whole microbatch are `times`. None: in proportion to the length.
  std::function<PartCosts(StageId stage, const Part& part, const StageTimes& times)> part;
};

/// Fills in `evict` and `load` of costs that come from a network: the time of a stash that is copied alone over the
/// cluster's link to the host. Does nothing if that link is not modelled.
void estimate_host_copies(StageCosts& costs, const Cluster& cluster);

}  // namespace plumb
