#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/traces/traced_run.hpp"
#include "tools/options/cost_arguments.hpp"

namespace plumb {

/// A schedule that the runtime of a traced run can run, predicted with the costs of that run.
struct AdvisedSchedule {
  std::string name;  ///< in the catalogue
  Schedule schedule;
  std::int32_t chunks = 0;  ///< as given to the generator; 0: its default
  std::int32_t stages_per_device = 1;
  double step_ns = 0;  ///< the run's measured step times predicted over the run's own predicted step
  double low_ns = 0;   ///< `step_ns` less and plus the uncertainty of the advice
  double high_ns = 0;
  double saves = 0;  ///< share of the run's step that it saves; negative where it is slower
  double bubble_fraction = 0;
  double stashes = 0;             ///< most activations of a device, in stashes of 1/p of the model
  std::int64_t memory_bytes = 0;  ///< of the fullest device; 0: no network was given
  bool fits = true;               ///< in the memory limit
  bool is_run = false;            ///< the order that was run
};

/// A schedule of the catalogue that was left out, and why.
struct UnfitSchedule {
  std::string name;
  std::string reason;
};

struct Advice {
  std::string runtime;  ///< that runs the advised schedules, as in `--runtime`
  std::string format;   ///< of schedules that it takes, as in `--format`
  std::int32_t num_devices = 0;
  std::int64_t num_microbatches = 0;
  double measured_ns = 0;   ///< median of the calm steps
  std::int64_t steps = 0;   ///< how many these are
  double predicted_ns = 0;  ///< the run's own order, with the run's own costs
  double spread = 0;        ///< half the range of the calm steps over their median
  /// Share by which a prediction may be off: as far as the run's own is, and the spread of its steps.
  double uncertainty = 0;
  std::vector<AdvisedSchedule> schedules;  ///< fastest first; those that do not fit last
  std::vector<UnfitSchedule> left_out;

  /// The fastest one that fits; none where nothing does.
  const AdvisedSchedule* best() const;
  /// Whether the best one saves more than the uncertainty.
  bool has_gain() const;
};

struct AdviceOptions {
  std::optional<double> memory_limit = {};  ///< of a device: bytes with a network, else stashes of 1/p of the model
  std::optional<Network> network = {};      ///< whose memory is counted, cut into equal parts
};

/// Every synchronous schedule of the catalogue that `run`'s runtime can run on as many devices and microbatches, with
/// one, two and four stages per device where it takes them. Stages are cut anew in equal parts (`run_profile_costs`).
///
/// Predictions share what they have wrong of this machine, so a step is predicted as the measured one times the ratio
/// of two predictions. Throws `Error` where the run's order is not one of whole updates.
Advice advise(const TracedRun& run, const AdviceOptions& options);

}  // namespace plumb
