#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/campaign/layout_steps.hpp"
#include "sim/runtimes/run_rules.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/options/schedule_arguments.hpp"

namespace plumb {

/// A job whose steps the simulator predicts in every layout.
struct LaidOutJob {
  std::string schedule;
  ScheduleArguments size;  ///< chunks and options; devices and microbatches are those of a layout
  CostArguments costs;     ///< the data degree is that of a layout
  RunRules rules;
  std::int64_t microbatches = 0;           ///< of a step, all pipelines together
  std::vector<std::int32_t> lengths = {};  ///< of pipelines that are tried; empty: all
  std::int32_t most_nodes = 1;
};

/// Steps of layouts from the simulator. A node holds one stage with all its tensor and context ranks.
class SimulatedLayouts final : public LayoutSource {
 public:
  /// Loads the documents. Throws `Error` for what is missing or contradictory.
  explicit SimulatedLayouts(LaidOutJob job);

  /// None for a layout that the schedule does not have, or that does not fit in memory.
  std::optional<StepOfLayout> step(JobLayout layout) override;
  std::vector<std::int32_t> lengths() const override { return lengths_; }
  std::int32_t most_pipelines(std::int32_t stages) const override;
  std::int64_t microbatches() const override { return job_.microbatches; }
  std::optional<std::int64_t> share_ns(JobLayout layout, double share) override;
  /// The active layers are simulated, cut by their times; frozen ones that are not cached add their forwards and
  /// weights to the first stage.
  std::optional<StepOfLayout> frozen_step(JobLayout layout, const FrozenLayers& layers) override;
  std::int32_t layers() const override;
  /// Those of the schedule `bamboo`; none where that is the job's.
  LayoutSource* redundant() override;

  std::string refusal() const override { return refusal_; }

 private:
  /// Throws where the cluster has not all nodes that there are at once.
  void check_nodes() const;
  std::int64_t microbatches_of(JobLayout layout) const;
  /// What frozen layers that run forward add to the first stage of a layout.
  struct FrozenWork {
    Ticks forward = 0;
    std::int64_t weight_bytes = 0;
  };
  /// Prices of the network without its first `frozen` decoder layers.
  std::shared_ptr<JobPriceBook> active_book(std::int32_t frozen);
  FrozenWork frozen_work(JobLayout layout, const Network& active) const;
  std::optional<StepOfLayout> simulated(JobLayout layout, std::int64_t microbatches);
  /// The same of the job of `source`, whose network is all that is trained, beside `frozen`.
  std::optional<StepOfLayout> simulated(JobLayout layout, std::int64_t microbatches, CostSource source,
                                        const FrozenWork& frozen);

  LaidOutJob job_;
  CostSource source_;
  std::vector<std::int32_t> lengths_;
  std::string refusal_;
  std::unique_ptr<SimulatedLayouts> redundant_;
  std::map<std::int32_t, std::shared_ptr<JobPriceBook>> active_books_;  ///< by how many layers are frozen
};

}  // namespace plumb
