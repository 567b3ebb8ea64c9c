#pragma once

#include <string>
#include <vector>

#include "tools/measured_steps/measured_job.hpp"

namespace plumb {

/// Peaks of the memory of measured jobs, predicted: what the allocator handed out, in GiB.
struct MeasuredMemory {
  std::vector<MeasuredJob> jobs;
  std::vector<double> predicted_gib;  ///< by job
};

/// Returns the job of a row that states memory, as its recipe says.
MeasuredJob memory_job(const MeasuredStep& row, const Cluster& cluster, const StepRecipe& recipe = {});

/// Predicts the memory of `jobs` with the rates of their devices (which do not count), in parallel. Throws `Error` with
/// the id of a row that contradicts itself.
MeasuredMemory measured_memory(std::vector<MeasuredJob> jobs);

}  // namespace plumb
