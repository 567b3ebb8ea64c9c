#include "tools/measured_steps/measured_memory.hpp"

#include <utility>

#include <tbb/parallel_for.h>

#include "models/ground/error.hpp"
#include "models/kernels/kernel_rates_io.hpp"

namespace plumb {
MeasuredJob memory_job(const MeasuredStep& row, const Cluster& cluster, const StepRecipe& recipe) {
  MeasuredJob job{row, step_network(row), step_parallelism(row), cluster};
  recipe.apply(row, job.parallelism);
  return job;
}

MeasuredMemory measured_memory(std::vector<MeasuredJob> jobs) {
  MeasuredMemory memory{std::move(jobs), {}};
  memory.predicted_gib.resize(memory.jobs.size());
  tbb::parallel_for(std::size_t{0}, memory.jobs.size(), [&](std::size_t k) {
    const MeasuredJob& job = memory.jobs[k];
    try {
      memory.predicted_gib[k] = predicted_memory_gib(job, kernel_rates_of(job.cluster.devices.front()));
    } catch (const Error& error) {
      throw Error(job.row.id + ": " + error.what());
    }
  });
  return memory;
}

}  // namespace plumb
