#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "models/cluster/cluster.hpp"
#include "models/costs/layer_least.hpp"
#include "models/costs/stage_costs.hpp"
#include "models/jobs/activation_peaks.hpp"
#include "models/jobs/job_clock.hpp"
#include "models/jobs/job_memory.hpp"
#include "models/stages/partition.hpp"

namespace plumb {

/// Returns the seconds of the passes of `layer`. `full`: its whole forward runs again.
StageSeconds layer_seconds(const LayerSpec& layer, const JobShape& shape, const JobClock& clock, bool full);

/// Returns whether every layer runs again as a whole.
bool runs_all_again(const Parallelism& job);

/// Returns what all jobs have in common whose passes take and keep the same: unless gradients or weights are divided
/// (ZeRO 2 and 3, or layers that ZeRO 3 shards), the number of data ranks and the ZeRO stage change only updates, and
/// what weights and state need. Where stashes wait is no matter of passes.
Parallelism with_same_passes(Parallelism job);

/// How many of a stage's first layers are not like the others; `kByPolicy`: as the job says. Where it leaves them to
/// stages, that is none in passes, and whatever needs least in memory and update.
struct OwnLayers {
  static constexpr std::int32_t kByPolicy = -1;
  std::int32_t again = kByPolicy;    ///< transformer layers that run again (`layers_to_recompute`)
  std::int32_t sharded = kByPolicy;  ///< layers that are sharded as by ZeRO 3
};

/// A stage, as far as its passes go.
struct StageUse {
  StageSeconds seconds{};  ///< as if something hid all weights on their way, and without coding of messages
  StageActivations activations{};
  StageMemory messages{};  ///< only the bytes of its messages, as computed
  StageHolding holding{};
};

/// What passes of layers and stages take and keep, for all jobs that agree in `with_same_passes`. A search prices
/// thousands of jobs, and tens of passes. Safe to use from several threads.
class JobPasses {
 public:
  /// What is the stage's own, kinds of the layers, and of their neighbours.
  using Key = std::vector<std::int32_t>;

  /// `network` must outlive this. `alike`: what `first_alike` says of its layers, if it is known already.
  JobPasses(const Network& network, const Cluster& cluster, const KernelRates& rates, const Parallelism& job,
            std::vector<std::int32_t> alike = {});
  JobPasses(const JobPasses&) = delete;
  JobPasses& operator=(const JobPasses&) = delete;

  /// Stages with the same key differ only in names.
  Key key_of(const LayerRange& range, const OwnLayers& own) const;
  std::shared_ptr<const StageUse> stage(const LayerRange& range, const OwnLayers& own, const Key& key) const;
  std::span<const LayerSpec> own_layers(const LayerRange& range) const {
    return std::span(network_.layers).subspan(range.begin, range.end - range.begin);
  }

  const std::vector<std::int32_t>& alike() const { return alike_; }
  /// Returns, by layer alone in a stage, what its passes take at least in any stage, and what it keeps.
  const std::vector<LayerLeast>& least() const { return least_; }
  const std::vector<DeviceParameters>& parameters() const { return parameters_; }  ///< by layer
  const std::vector<Ticks>& layer_forward() const { return layer_forward_; }       ///< by layer
  /// Returns the FLOPs of one data rank and microbatch.
  double model_flops() const { return model_flops_; }

 private:
  /// Seconds of one layer that runs alone.
  struct LayerSeconds {
    StageSeconds once;   ///< as the job says
    StageSeconds again;  ///< its whole forward runs again
  };
  static LayerSeconds both_seconds(const LayerSpec& layer, const JobShape& shape, const JobClock& clock);
  StageUse passes_of(const LayerRange& range, const OwnLayers& own) const;
  LayerLeast least_of(std::size_t layer) const;

  const Network& network_;
  JobShape shape_;
  std::vector<std::int32_t> alike_;
  bool plain_chain_ = false;
  double model_flops_ = 0;
  std::vector<LayerSeconds> layers_;
  std::vector<LayerSeconds> sharded_;  ///< seconds of layers that ZeRO 3 shards; empty: stages have no such choice
  std::vector<DeviceParameters> parameters_;
  std::vector<Ticks> layer_forward_;
  std::vector<LayerLeast> least_;
  mutable std::mutex mutex_;
  mutable std::map<Key, std::shared_ptr<const StageUse>> stages_;
};

}  // namespace plumb
