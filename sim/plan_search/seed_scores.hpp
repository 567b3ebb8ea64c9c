#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "sim/plan_search/pipeline_plan.hpp"
#include "sim/plan_search/plan_job.hpp"
#include "sim/plan_search/plan_kinds.hpp"

namespace plumb {

/// `PlanEffort::trials` by the threads of this process.
std::vector<PlanTrial> tried_here(std::size_t count, const std::function<PlanTrial(std::size_t)>& work);

/// Plans that were given, and plans near the best of these with replicated stages.
///
/// Near are: some layers or holders given from one stage to another, two neighbouring stages made one, one made two.
/// They are simulated some at a time, and the first better one is gone on from. Given plans with replicated stages are
/// also tried in the order of places in which as many messages as can be stay in a node: holder h of every stage on
/// node h mod nodes; and so are those near them. Same input, same plans.
class SeedSearch {
 public:
  using Stop = std::function<bool()>;

  /// `job` and `trials` must outlive this.
  SeedSearch(const PlanJob& job, const PlanTrials& trials) : job_(job), trials_(trials) {}

  /// `seeds` simulated, each once, in a fixed order; those that cannot be are left out. May be asked
  /// several times before `go_on`.
  std::vector<ScoredPlan> begin(const std::vector<PipelinePlan>& seeds, const Stop& stop);

  /// Simulates at most `most` more plans, near the best of those.
  std::vector<ScoredPlan> go_on(std::int64_t most, const Stop& stop);

 private:
  using PlanKey = std::tuple<PlanKind, std::vector<std::size_t>, std::vector<std::int32_t>>;
  /// Nodes of the cluster, and places of each.
  struct Nodes {
    std::int32_t count = 1;
    std::int32_t places = 1;
  };

  static std::vector<std::int32_t> aligned_order(const std::vector<std::int32_t>& replicas, const Nodes& nodes);
  void add_aligned(const PipelinePlan& seed, std::vector<PipelinePlan>& all);
  std::vector<PipelinePlan> near(const PipelinePlan& plan) const;
  bool is_new(const PipelinePlan& plan);
  std::vector<ScoredPlan> score(const std::vector<PipelinePlan>& plans, const Stop& stop) const;

  const PlanJob& job_;
  const PlanTrials& trials_;
  std::optional<Nodes> nodes_;
  std::set<PlanKey> seen_;
  std::vector<ScoredPlan> starts_;     ///< the best last
  std::vector<PipelinePlan> waiting_;  ///< near the last of them, those that come first last
};

}  // namespace plumb
