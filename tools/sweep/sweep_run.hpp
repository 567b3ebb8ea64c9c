#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/ground/rational.hpp"
#include "schedules/catalogue/registry.hpp"
#include "sim/runtimes/run_rules.hpp"
#include "sim/timeline/timeline.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/options/job_arguments.hpp"

namespace plumb {

/// One simulation of a sweep.
struct SweepPoint {
  std::string schedule;
  ScheduleParams params;
  std::string cost = {};          ///< abstract costs; empty: none
  std::string memory_limit = {};  ///< empty: none
  JobDegrees job = {};            ///< how stages are spread
};

/// What a sweep runs over.
struct SweepRanges {
  std::vector<std::string> schedules;
  std::vector<std::int64_t> devices;
  std::vector<std::int64_t> chunks;
  std::vector<std::int64_t> microbatches;
  std::vector<std::string> costs{""};
  std::vector<std::string> memory_limits{""};
  std::vector<JobDegrees> jobs{JobDegrees{}};
};

/// All combinations: costs outermost, then memory limits, jobs, schedules, devices, chunks, microbatches. `base` has
/// what all share.
std::vector<SweepPoint> sweep_grid(const SweepRanges& ranges, const ScheduleParams& base);

/// What all simulations of a sweep share.
struct SweepPlan {
  CostArguments costs;  ///< a point replaces `--cost`, `--memory-limit` and the degrees with its own
  RunRules rules;
  CostSource source = {};       ///< of `costs`
  std::int64_t runs = 1;        ///< with jitter: simulations per point, with consecutive seeds
  bool keep_timelines = false;  ///< for a page
};

/// The 5th and 95th percentile of the runs of a point.
struct Interval {
  double low = 0;
  double high = 0;
};

/// Figures of one point: those of its only run, or medians of its runs.
struct SweepFigures {
  std::int64_t updates = 0;
  double makespan_ns = 0;
  double step_time_ns = 0;
  double longest_device_span_ns = 0;
  double bubble_fraction = 0;
  double bubble_rate = 0;
  double utilization = 0;
  std::optional<double> samples_per_s;
  std::optional<double> tokens_per_s;
  std::optional<double> model_flops_utilization;
  double peak_activations = 0;                   ///< of the fullest device, in stashes of one stage (or --memory units)
  double peak_device_stashes = 0;                ///< the same in stashes of 1/p of the model, so that chunks compare
  std::int64_t peak_memory_bytes = 0;            ///< tensors of the fullest device; 0: not known
  std::int64_t needed_bytes = 0;                 ///< with all that is held beside them; 0: not known
  std::optional<Interval> makespan_interval_ns;  ///< with several runs
  std::optional<Interval> bubble_interval;
};

/// What tables show of the memory: what the fullest device needs, or where that is not known its tensors.
inline std::int64_t memory_bytes(const SweepFigures& figures) {
  return figures.needed_bytes > 0 ? figures.needed_bytes : figures.peak_memory_bytes;
}

/// The result of one point of a sweep: its figures, or why there are none.
struct SweepResult {
  SweepPoint point;
  std::string_view semantics;  ///< "synchronous", "asynchronous" or "forward": what may be compared
  /// With abstract costs: what all stages together take for one microbatch, in ns. Only equals may be compared.
  Rational work = {};
  std::optional<SweepFigures> figures;
  bool fits = true;  ///< no more memory is expected than there is
  MemoryVerdict verdict{};
  std::string error;                        ///< empty when there are figures
  bool cannot_run = false;                  ///< the error is that the schedule cannot run, and no mistake of the input
  std::string stands_on;                    ///< what the times of a network rest on (`standing_text`)
  std::optional<Timeline> timeline;         ///< when kept
  bool decided_without_contention = false;  ///< its order, at run time
};

/// Simulates all points, as many at a time as there are hardware threads. `take` gets the results one by one, in the
/// order of the points, while later ones still run.
void sweep_points(const std::vector<SweepPoint>& points, const SweepPlan& plan,
                  const std::function<void(SweepResult)>& take);

/// Everything of `results` but the points and the timelines, as bytes for another process of the same program.
std::string sweep_results_to_bytes(const std::vector<SweepResult>& results);

/// Reads that. The points have only what a simulation finds out about them, the number of chunks.
std::vector<SweepResult> sweep_results_from_bytes(std::string_view bytes);

}  // namespace plumb
