#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/cluster/cluster.hpp"
#include "models/costs/layer_least.hpp"
#include "models/costs/stage_costs.hpp"
#include "models/jobs/parallelism.hpp"
#include "models/stages/partition.hpp"
#include "sim/plan_search/pipeline_plan.hpp"

namespace plumb {

/// What the stages of a partition cost, and the places that they may be put on.
struct PricedStages {
  StageCosts costs{};
  Cluster pipeline{};  ///< a device per place of the pipeline, with the links between them
  /// By place: the largest simulated peak that fits, after everything else that needs memory is subtracted; 0: no
  /// limit.
  std::vector<std::int64_t> usable_bytes{};
  std::vector<double> price_per_hour{};  ///< by place: of all its devices; empty: not known
  /// How prices of stages follow from those of layers: passes, weights, gradients, optimizer state and stashes are
  /// exactly the sums of its layers', messages those of its first and last one; the forward's workspace has room for
  /// what any two neighbouring layers inside it hand on, and the stage's input is no part of the stash.
  bool sums = false;
  /// By layer of the network: what it adds at least to any stage. None: only what `StagePricing` promises is known.
  std::shared_ptr<const std::vector<LayerLeast>> least{};
  /// By stage: how many of its layers can run again in the backward; empty: none.
  std::vector<std::int32_t> recomputable{};
  std::vector<std::int32_t> shardable{};  ///< by stage: how many of its layers ZeRO 3 can shard; empty: none
  /// What is in the update of every stage beside that of its layers: where a place has several stages, its part of what
  /// a place needs for all of them together.
  Ticks stage_update = 0;
  /// Whose rules messages and actions follow (sim/runtimes); empty: those of plumbline. It must outlive this.
  std::string_view runtime{};
};

/// Prices a partition for a pipeline of so many places, in nanoseconds (one is a tick); throws `Error` for what cannot
/// be. Where the parallelism leaves
/// a choice to stages (`is_fitted`), no `choices` make a stage faster or smaller than the price without any.
///
/// The bounds of the search rely on three properties, without `stage_update`: no pass or update of a stage takes less
/// than that of any part of it, no stage needs less memory than any part of it, and all stages together take and need
/// no less than the whole network as one stage (but for a nanosecond of rounding per stage and pass).
using StagePricing = std::function<PricedStages(const Parallelism& parallelism, const Partition& partition,
                                                std::int32_t places, const StageChoices& choices)>;

/// The job that a plan is made for.
struct PlanJob {
  std::size_t num_layers = 0;
  std::int64_t num_devices = 0;  ///< devices of the cluster
  std::int64_t batch = 0;        ///< samples of one update of the whole job
  StagePricing price{};
  /// Layers at which a stage may begin, ascending from 0, and the number of layers; empty: all.
  std::vector<std::size_t> units{};
  /// The only cut into so many stages, nothing where there is none; no function: every cut is allowed.
  std::function<std::optional<Partition>(std::size_t stages)> only_cut{};
  /// Whether a system that the plan may be for can run the schedule of this name with stages on such ranks, on so many
  /// places with so many microbatches; no function: whatever the schedule itself allows.
  std::function<bool(std::string_view schedule, const Parallelism& ranks, std::int32_t places,
                     std::int64_t microbatches)>
      runs{};
  bool in_order = false;  ///< places stay in the cluster's order: place k is position k of the pipeline
};

/// What may be chosen. All combinations are searched.
struct PlanRanges {
  std::vector<Parallelism> parallelisms{};    ///< what a stage is spread over, and its microbatch (size above 0)
  std::vector<std::int32_t> places{};         ///< lengths of the pipeline
  std::vector<std::int32_t> chunks{2, 3, 4};  ///< stages per place, for schedules that have several
  /// More of them for the schedule `interleaved`, tried only where all stages can have the same number of layers,
  /// embedding and head counting as one layer each or as none.
  std::vector<std::int32_t> even_chunks{};
  /// Names of the catalogue; empty: every synchronous one that cuts no microbatches into slices.
  std::vector<std::string> schedules{};
  /// With no names: also those that never flush. Their steps are those of the steady state.
  bool asynchronous = false;
  /// Stages of a pipeline without data ranks may be held by unlike numbers of places (`PipelinePlan::replicas`).
  bool replicated = false;
  /// Copies of a whole pipeline that take unlike shares of the microbatches (`PipelinePlan::shares`), so many of them,
  /// from 2 on; tried where places are of unlike speed or memory and nothing is left to single stages.
  std::vector<std::int32_t> copies{};
  /// Published planners whose answers may be seeds; without a value: all.
  std::optional<std::vector<std::string>> planners{};
};

/// What came of simulating one plan of a search, as far as another process has to be told.
struct PlanTrial {
  std::optional<ScoredPlan> score{};        ///< score of a plan that whoever asks knows
  MadeChoices made{};                       ///< choices of a plan that leaves some to its stages
  Partition roomier{};                      ///< a cut to try as well, since this one does not fit; empty: none
  std::vector<std::int64_t> spare_bytes{};  ///< by place: what it leaves free
  std::vector<std::int64_t> shares{};       ///< shares of copies, where the plan left them open
  std::string refused{};                    ///< why nothing came of it
  bool simulated = false;                   ///< false also where it is proved not to fit
  bool skipped = false;                     ///< the search ended before its turn came
};

/// Does work number 0 to `count` - 1, and says what came of each.
using PlanTrials =
    std::function<std::vector<PlanTrial>(std::size_t count, const std::function<PlanTrial(std::size_t)>& work)>;

struct PlanProgress {
  std::int64_t simulated = 0;
  std::int64_t best_ns = 0;   ///< 0: nothing fits so far
  std::int64_t bound_ns = 0;  ///< no plan that is still open is faster
  std::int64_t open = 0;      ///< parts of the search space that are still undecided
};

/// How much the search may compute, and when it stops.
struct PlanEffort {
  std::int64_t most_simulations = 100'000;
  /// Most cuts times orders of one setup (degrees, microbatch, length of the pipeline) and number of stages that are
  /// all tried. Of more, balanced ones are tried, and what local search makes of the best.
  std::int64_t most_exact = 3000;
  std::int64_t known_ns = 0;     ///< only plans that take less are looked for; 0: all
  std::int64_t keep = 3;         ///< number of best plans to return, each of a different kind
  std::function<bool()> stop{};  ///< asked before every simulation; none: never
  /// Ends what comes before the search: plans of published planners and plans near them. None: as `stop`.
  std::function<bool()> stop_seeds{};
  /// Ends pricing. Choices of degrees that are not priced by then are left out, and nothing is proved about them; some
  /// are priced in any case. None: as `stop`.
  std::function<bool()> stop_pricing{};
  /// More plans of published planners, asked for when all else is done, `stop` says no and a better plan may exist.
  std::function<std::vector<PipelinePlan>()> late_seeds{};
  std::function<void(const PlanProgress&)> progress{};
  /// How plans are simulated; none: by the threads of this process. Where several processes make the same search and
  /// each simulates some of its plans, all of them have to be told all, and `stop` has to say the same in all of them
  /// between two calls.
  PlanTrials trials{};
};

}  // namespace plumb
