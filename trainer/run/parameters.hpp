#pragma once

#include <cstdint>
#include <span>

#include "trainer/plan/run_plan.hpp"
#include "trainer/plan/train_result.hpp"
#include "trainer/run/device_report.hpp"

namespace plumb {

/// What the devices of a run report at its end, by device.
using DeviceReports = std::span<const DeviceReport>;

/// FNV-1a over the newest weights, parameter by parameter in order of name, each once (further copies of a tied weight
/// and of a stage are passed over, but for those of further jobs, which follow): equal bits give equal hashes, however
/// the network is cut and placed.
std::uint64_t weights_hash(const RunPlan& plan, DeviceReports reports);

/// The newest weights by parameter name, frozen ones too; of several jobs those of the first.
NamedValues final_parameters(const RunPlan& plan, DeviceReports reports);

/// What one job has trained (trainer/run/jobs.hpp), without frozen weights.
NamedValues job_parameters(const RunPlan& plan, DeviceReports reports, ReplicaId job);

/// Gradients as the last update of every stage used them, before scaling.
NamedValues last_gradients(const RunPlan& plan, DeviceReports reports);

}  // namespace plumb
