#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/cluster/cluster.hpp"
#include "models/jobs/job_costs.hpp"
#include "tools/measured_steps/measured_step.hpp"

namespace plumb {

/// A row with the machine that its source describes; only the rates of its devices are missing for a prediction.
struct MeasuredJob {
  MeasuredStep row;
  Network network;
  Parallelism parallelism;
  Cluster cluster;
};

/// The built-in cluster that a row ran on, in its size; none for devices that have no cluster here.
std::optional<Cluster> step_cluster(const MeasuredStep& row);

/// What the stages of a row cost. Throws `Error` for rows that contradict themselves.
JobCosts measured_job_costs(const MeasuredJob& job, const KernelRates& rates);

/// Seconds of a step: its schedule, simulated with the costs of its job. Throws `Error` for rows that contradict
/// themselves.
double predicted_step_s(const MeasuredJob& job, const KernelRates& rates);

/// As above, for all of them at once, with the rates of each one's devices, or `rates` where given.
std::vector<double> predicted_steps_s(const std::vector<MeasuredJob>& jobs, const KernelRates* rates = nullptr);

}  // namespace plumb
