#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "models/cluster/cluster.hpp"
#include "models/costs/layer_least.hpp"
#include "models/costs/stage_costs.hpp"
#include "models/jobs/parallelism.hpp"
#include "models/jobs/stage_choices.hpp"
#include "models/jobs/update_seconds.hpp"
#include "models/kernels/kernel_rates.hpp"
#include "models/network/network.hpp"
#include "models/stages/partition.hpp"

namespace plumb {

/// What every stage of a job costs, as schedules and simulator see it.
struct JobCosts {
  /// Times of a microbatch of one data rank, bytes of one device, work of the whole job.
  StageCosts costs{};
  /// One device per place in the pipeline, with the links between the ranks of that place.
  Cluster pipeline{};
  KernelRates rates{};
  std::vector<UpdateSeconds> updates{};                    ///< by stage
  Ticks stage_update = 0;                                  ///< in every U, beside these: `stage_update_ns`
  std::shared_ptr<const std::vector<LayerLeast>> least{};  ///< by layer of the network
};

/// Returns what an update takes besides its work (`KernelRates::update_ns`) for each of `stages` on so many places:
/// a device that holds several stages (virtual stages) starts one update for all of them. The parts are equal, and
/// together no less than the whole.
Ticks stage_update_ns(const KernelRates& rates, std::size_t stages, std::int32_t places);

/// What a job runs on: `places` devices of a pipeline (stages of a place share its devices), each spread over ranks of
/// `cluster`.
struct JobMachine {
  const Cluster& cluster;
  std::int32_t places = 1;
  std::optional<KernelRates> rates{};  ///< none: those of the cluster's devices (`kernel_rates_of`)
};

/// Costs of the stages of `partition` when `parallelism` spreads every stage over devices of `machine`. The time
/// of a pass on a device is the sum of its kernels (or of the time the host needs to start them, if that is longer) and
/// of the collectives that do not overlap them.
///
/// B = I + W with what is recomputed in I; R = F. Memory: `job_stage_memory`. An update reduces the gradients over data
/// and context ranks, updates, and gathers what ZeRO sharded. Tied weights are those of a tensor rank.
/// `choices`: what single stages have otherwise; of them, those of layers count here.
/// Throws `Error` for what cannot be divided, and for clusters with too few devices. Devices of other rates than the
/// first count as slower or faster by their FLOP/s. All places have one tensor degree (else: `unlike_job_costs`).
JobCosts job_costs(const Network& network, const Partition& partition, const JobMachine& machine,
                   const Parallelism& parallelism, const StageChoices& choices = {});

class JobPasses;

/// Computes the same, but each stage only once, since a search needs the same stages many times. Stages whose layers
/// and neighbours differ only in their names have the same costs. Safe to use from several threads.
class JobPrices {
 public:
  /// `network` and the cluster of `machine` must outlive this. `passes`: those of a job with the same passes on the
  /// same machine (`with_same_passes`), if they are known already. Throws as `job_costs` does.
  JobPrices(const Network& network, const JobMachine& machine, const Parallelism& parallelism,
            std::shared_ptr<const JobPasses> passes = {});
  ~JobPrices();
  JobPrices(const JobPrices&) = delete;
  JobPrices& operator=(const JobPrices&) = delete;

  JobCosts costs(const Partition& partition, std::int32_t places, const StageChoices& choices = {}) const;
  /// Computes the costs without the machine: the pipeline has no devices, and copies to the host take no time.
  JobCosts stages(const Partition& partition, std::int32_t places, const StageChoices& choices = {}) const;

  /// Returns, by stage, how many layers there are that can run again.
  std::vector<std::int32_t> recomputable(const Partition& partition) const;

 private:
  void check_counts(const Partition& partition, const StageChoices& choices) const;

  struct State;
  std::unique_ptr<State> state_;
};

/// Returns the nanoseconds of F, I and W of every layer of `network`, as `balanced_partition` takes them.
std::vector<std::int64_t> job_layer_times(const Network& network, const JobMachine& machine,
                                          const Parallelism& parallelism);

}  // namespace plumb
