#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedules/document/schedule.hpp"
#include "sim/traces/traced_run.hpp"
#include "tools/advice/run_predictor.hpp"
#include "tools/formats/schedule_formats.hpp"

namespace plumb {

/// A schedule of the catalogue for as many devices as the run had: one pipeline, or several beside each other.
struct Candidate {
  std::string name;
  std::int32_t chunks = 0;    ///< as given to the generator; 0: its default
  std::int32_t replicas = 1;  ///< pipelines of devices / replicas ranks, each with its share of the microbatches
  bool for_costs = false;     ///< its order depends on the costs that it is made for
  bool is_run = false;        ///< the order that was run
  Schedule schedule;          ///< of one of the pipelines
  std::vector<std::string> also_called;  ///< other schedules of the catalogue that have the same order here
};

/// A schedule of the catalogue that was left out, and why.
struct UnfitSchedule {
  std::string name;
  std::string reason;
};

struct Candidates {
  std::vector<Candidate> found;         ///< every order once
  std::vector<UnfitSchedule> left_out;  ///< by the catalogue; with one pipeline of all devices
};

/// F, B, I and W of every device in their order, without what only the document says.
std::vector<std::vector<Action>> order_of(const Schedule& schedule);

/// All synchronous schedules of the catalogue that can be written in `format` for the devices and microbatches of
/// `run`, each with its own number of stages per device, and with two and four where it takes them. Where `predictor`
/// knows what a reduction of gradients takes, also with fewer pipeline ranks and the rest as replicas. Names of PyTorch
/// for schedules that have another name here are tried only where nothing else has the order of `run` (`torch-gpipe`).
Candidates find_candidates(const Schedule& run, const RunPredictor& predictor, const ScheduleFormat& format);

/// The order of `run` alone, by its name in the catalogue, or its own where it has none there.
Candidates own_candidate(const Schedule& run);

/// A schedule that the runtime of a traced run can run, predicted with the costs of that run.
struct AdvisedSchedule {
  Candidate candidate;
  std::int32_t stages_per_device = 1;
  double step_ns = 0;  ///< the run's measured step times predicted over the run's own predicted step
  double low_ns = 0;   ///< `step_ns` may be as short, and as long, as this
  double high_ns = 0;
  double saves = 0;  ///< share of the run's step that it saves; negative where it is slower
  double bubble_fraction = 0;
  double stashes = 0;             ///< most activations of a device, in stashes of 1/p of the model
  std::int64_t memory_bytes = 0;  ///< that the fullest device needs; 0: no network was given
  bool fits = true;               ///< in the memory limit
  bool ties = false;              ///< within `kSameStep` of the fastest one that fits: which is faster is not known
};

/// Steps that are predicted closer to each other are not told apart, as in `compare --ranking`.
inline constexpr double kSameStep = 0.02;

struct Advice {
  std::string runtime;  ///< that runs the advised schedules, as in `--runtime`
  std::string run_by;   ///< the runtime of the run; a class of PyTorch runs none of the advised files
  std::string format;   ///< of schedules that it takes, as in `--format`; empty: none is advised
  std::string given;    ///< `AdviceOptions::given`
  std::int32_t num_devices = 0;
  std::int64_t num_microbatches = 0;
  double measured_ns = 0;   ///< median of the calm steps
  std::int64_t steps = 0;   ///< how many these are
  double predicted_ns = 0;  ///< the run's own order, with the run's own costs
  double spread = 0;        ///< half the range of the calm steps over their median
  /// Share by which every prediction may be off: as far as the run's own is, and the spread of its steps.
  double uncertainty = 0;
  std::vector<std::string> assumptions;  ///< sentences, about the advised schedules
  /// Fastest first, those that do not fit last; but of `ties` the one that holds the least is the first of all.
  std::vector<AdvisedSchedule> schedules;
  std::vector<UnfitSchedule> left_out;

  /// What is advised: of the fastest ones that fit (`ties`) the one that holds the least; none where nothing fits.
  const AdvisedSchedule* best() const;
  /// The run's own order; none where the catalogue has no such order.
  const AdvisedSchedule* own() const;
  /// The fastest one called `name`. Throws `Error` for others, with the nearest name.
  const AdvisedSchedule& named(const std::string& name) const;
  /// Whether the best one saves more than the uncertainty.
  bool has_gain() const;
};

/// Every candidate (`find_candidates`) for the run's devices, microbatches and runtime, predicted and in order. Stages
/// are cut anew in equal parts of the run's stages (`run_profile_costs`).
///
/// Predictions share what they have wrong of this machine, so a step is predicted as the measured one times the ratio
/// of two predictions. The interval of each adds, as squares, the uncertainty of all and by how much that ratio changes
/// when messages, the host, or what stays of an action when stages are cut take the 10th or 90th percentile of their
/// times.
///
/// For a runtime without a format of schedules the run's own order is all there is.
///
/// Throws `Error` where the run's order is not known (a summary), or not one of whole updates.
Advice advise(const TracedRun& run, const AdviceOptions& options);

/// Predictions with all actions, for a page.
struct AdvisedTimelines {
  Timeline own;      ///< the order that was run
  Timeline fastest;  ///< `best`; without devices where none fits
};

AdvisedTimelines advised_timelines(const TracedRun& run, const Advice& advice, const AdviceOptions& options);

}  // namespace plumb
