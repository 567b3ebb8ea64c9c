#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/jobs/parallelism.hpp"
#include "models/jobs/stage_choices.hpp"
#include "models/stages/partition.hpp"

namespace plumb {

/// Everything that is decided about a pipeline.
struct PipelinePlan {
  Parallelism parallelism{};
  std::int32_t places = 1;        ///< length of the pipeline; of all its copies together where they have shares
  std::int64_t microbatches = 1;  ///< per update and data rank; copies with shares have so many together
  std::string schedule{};
  std::int32_t chunks = 0;  ///< stages per place that the schedule was asked for; 0: its own number
  Partition partition{};
  /// Which place of the cluster stands at each position of the pipeline.
  std::vector<std::int32_t> order{};
  /// By stage: how many positions hold it and take its microbatches in turn; empty: as the schedule says, one each.
  std::vector<std::int32_t> replicas{};

  /// By copy of the whole pipeline, each on as many positions as the others, in order: how many of the microbatches it
  /// takes; empty: there is one copy.
  std::vector<std::int64_t> shares{};

  /// By stage, chosen so that it fits, where `parallelism` leaves it to stages.
  StageChoices choices{};

  std::int32_t copies() const { return shares.empty() ? 1 : static_cast<std::int32_t>(shares.size()); }
  /// Returns the places of one copy of the pipeline.
  std::int32_t length() const { return places / copies(); }
  /// Returns the stages of the pipeline on each place; 1 where stages are replicated.
  std::int64_t stages_per_place() const {
    return replicas.empty() ? static_cast<std::int64_t>(partition.num_stages()) / std::max(1, length()) : 1;
  }
  std::int64_t num_devices() const {
    if (!parallelism.has_unlike_tensor()) return places * parallelism.devices_per_stage();
    std::int64_t all = 0;
    for (const std::int32_t place : order) all += parallelism.devices_of(place);
    return all;
  }
  friend bool operator==(const PipelinePlan&, const PipelinePlan&) = default;
};

/// "5-3": the microbatches of every copy; empty for one copy.
inline std::string shares_text(const PipelinePlan& plan) {
  std::string text;
  for (const std::int64_t share : plan.shares) text += (text.empty() ? "" : "-") + std::to_string(share);
  return text;
}

/// Tensor ranks of every position of the pipeline, "2-2-4-4"; of all in one number where they are alike.
inline std::string tensor_text(const PipelinePlan& plan) {
  const Parallelism& job = plan.parallelism;
  if (!job.has_unlike_tensor()) return std::to_string(job.tensor);
  std::vector<std::int32_t> degrees;
  for (const std::int32_t place : plan.order) degrees.push_back(job.tensor_by_place[static_cast<std::size_t>(place)]);
  return counts_text(degrees);
}

/// What is left of the choices of stages when they are made: the same policy for all stages where one says as much.
struct MadeChoices {
  ActivationRecompute recompute = ActivationRecompute::kNone;
  ZeroStage zero = ZeroStage::kNone;
  bool zero_by_layer = false;
  bool offload_by_stage = false;
  StageChoices of_stages{};
};

/// Returns whether a job leaves some choices to every stage by itself.
inline bool is_fitted(const Parallelism& job) {
  return job.recompute == ActivationRecompute::kFitted || job.zero_by_layer || job.offload_by_stage;
}

/// A plan with the figures of its simulation.
struct ScoredPlan {
  PipelinePlan plan{};
  std::int64_t step_ns = 0;
  std::int64_t peak_bytes = 0;    ///< peak of the fullest device
  std::int64_t excess_bytes = 0;  ///< by which the worst device is above what it can use; 0: fits
  std::int32_t worst_place = 0;   ///< place of the cluster where `excess_bytes` is, or else where the least is left
  std::int64_t worst_bytes = 0;   ///< the peak there
  double bubble_fraction = 0;
  double price_per_hour = 0;  ///< price of all devices that are used; 0: not known

  bool fits() const { return excess_bytes == 0; }
  /// Device-seconds of one update.
  double device_seconds() const {
    return static_cast<double>(step_ns) * 1e-9 * static_cast<double>(plan.num_devices());
  }
  /// Price of one update; 0: not known.
  double price() const { return static_cast<double>(step_ns) * 1e-9 / 3600 * price_per_hour; }
};

/// The answer of a search.
struct PlanAnswer {
  std::vector<ScoredPlan> best{};       ///< plans that fit, fastest first, no two with the same degrees and schedule
  std::vector<ScoredPlan> front{};      ///< Pareto-optimal plans among all simulated ones (plan_front.hpp)
  std::optional<ScoredPlan> closest{};  ///< when nothing fits: the plan that exceeds the memory least
  std::int64_t bound_ns = 0;            ///< proved: no plan of the search space is faster
  bool exhausted = false;               ///< nothing is left that could be faster
  std::int64_t simulated = 0;
  std::int64_t seeded = 0;          ///< plans among these that were given, or by which the search begins
  std::int64_t setups = 0;          ///< degrees, microbatches and lengths of pipelines that were possible
  std::int64_t without_memory = 0;  ///< number of these that are proved not to fit
  /// Choices of degrees whose prices were not there when the time was over: nothing is known about their plans.
  std::int64_t unpriced = 0;
  bool lacked_memory = false;  ///< a setup or a plan did not fit
  bool cut_short = false;      ///< a limit ended the search before everything was decided
  std::string refused{};       ///< why the first impossible setup or plan was; empty when all were possible
  /// By published planner that was asked for: the step of the fastest of its plans that fits; 0: none does.
  std::map<std::string, std::int64_t> planner_ns{};

  /// (best - bound) / best; 0 when the best plan is proved optimal.
  double gap() const {
    if (best.empty() || best.front().step_ns <= 0) return 0;
    const auto found = static_cast<double>(best.front().step_ns);
    return bound_ns >= best.front().step_ns ? 0 : (found - static_cast<double>(bound_ns)) / found;
  }
};

}  // namespace plumb
