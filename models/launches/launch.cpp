#include "models/launches/launch.hpp"

#include <algorithm>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

/// "tp 8 x cp 2 x pp 4"
std::string ranks_text(const LaunchJob& job) {
  std::string text = "tp " + std::to_string(job.parallelism.tensor);
  if (job.parallelism.context > 1) text += " x cp " + std::to_string(job.parallelism.context);
  return text + " x pp " + std::to_string(job.pipeline);
}

}  // namespace

void place_launch(LaunchJob& job, std::int64_t devices) {
  constexpr std::int64_t kMostLaunched = std::int64_t{1} << 30;
  if (std::max({job.parallelism.microbatch_size, job.batch, job.accumulation}) > kMostLaunched ||
      job.model_ranks() > kMostLaunched) {
    throw Error(job.source + ": expected fewer samples and ranks");
  }
  const std::int64_t copy = job.model_ranks();
  if (devices < 1 || devices % copy != 0) {
    throw Error(job.source + ": one copy of the model takes " + std::to_string(copy) + " devices (" + ranks_text(job) +
                "), expected a multiple of them, found " + std::to_string(devices) +
                "; --cluster NAME-NODESxDEVICES gives another number");
  }
  job.parallelism.data = devices / copy;
  const std::int64_t at_once = job.parallelism.microbatch_size * job.parallelism.data;
  if (job.batch == 0) {
    job.microbatches = job.accumulation;
    job.batch = job.accumulation * at_once;
  }
  if (job.batch % at_once != 0) {
    throw Error(job.source + ": the batch of " + std::to_string(job.batch) + " samples, expected a multiple of " +
                std::to_string(at_once) + " (" + std::to_string(job.parallelism.microbatch_size) + " of each of " +
                std::to_string(job.parallelism.data) + " data-parallel ranks)");
  }
  job.microbatches = job.batch / at_once;
}

}  // namespace plumb
