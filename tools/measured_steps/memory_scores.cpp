#include "tools/measured_steps/memory_scores.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <tbb/parallel_for.h>

#include "models/ground/error.hpp"
#include "models/kernels/kernel_rates_io.hpp"

namespace plumb {
namespace {

/// Tests of frameworks train networks of this width or less.
constexpr std::int64_t kTinyWidth = 1024;

void add_reserved(const MeasuredStep& row, MemoryScore& score) {
  if (row.reserved_gib <= 0) return;
  const double above = row.reserved_gib / row.memory_gib - 1;
  score.least_reserved = score.reserved_rows == 0 ? above : std::min(score.least_reserved, above);
  score.most_reserved = std::max(score.most_reserved, above);
  ++score.reserved_rows;
}

}  // namespace

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

std::string memory_group(const MeasuredStep& row) { return row.data + (row.hidden <= kTinyWidth ? ", tiny" : ""); }

std::vector<MemoryScore> memory_scores(const MeasuredMemory& memory, bool by_schedule) {
  std::map<std::string, MemoryScore> groups;
  for (std::size_t k = 0; k < memory.jobs.size(); ++k) {
    const MeasuredStep& row = memory.jobs[k].row;
    MemoryScore& score = groups[memory_group(row) + (by_schedule ? ", " + row.schedule : "")];
    score.jobs.push_back(k);
    add_reserved(row, score);
  }
  std::vector<MemoryScore> scores;
  for (auto& [name, score] : groups) {
    std::vector<double> predicted;
    std::vector<double> measured;
    for (const std::size_t k : score.jobs) {
      predicted.push_back(memory.predicted_gib[k]);
      measured.push_back(memory.jobs[k].row.memory_gib);
    }
    score.name = name;
    score.allocated = step_score(predicted, measured);
    scores.push_back(std::move(score));
  }
  return scores;
}

}  // namespace plumb
