#pragma once

#include <string>
#include <vector>

#include "tools/measured_steps/measured_job.hpp"
#include "tools/measured_steps/step_scores.hpp"

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

/// Returns the data set that the memory of a row is scored with: its file, real sizes apart from tiny networks.
std::string memory_group(const MeasuredStep& row);

/// Rows that are scored together.
struct MemoryScore {
  std::string name;
  std::vector<std::size_t> jobs;
  StepScore allocated;            ///< predicted against measured
  std::size_t reserved_rows = 0;  ///< rows that state what the allocator held, too
  double least_reserved = 0;      ///< smallest and largest share by which reserved memory was above what was handed out
  double most_reserved = 0;
};

/// Scores by `memory_group`, or by that and the schedule.
std::vector<MemoryScore> memory_scores(const MeasuredMemory& memory, bool by_schedule = false);

}  // namespace plumb
