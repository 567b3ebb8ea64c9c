#include "sim/traces/traced_pipeline.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

std::set<std::int32_t> stages_of(const RankRun& run) {
  std::set<std::int32_t> stages;
  for (const TracedAction& work : run.work) stages.insert(static_cast<std::int32_t>(work.action.stage));
  return stages;
}

/// Where no rank tells of messages, a job is taken for one pipeline.
std::int32_t number_of_stages(const std::vector<RankRun>& runs, std::size_t per_rank) {
  std::int32_t stages = 0;
  bool told = false;
  for (const RankRun& run : runs) {
    stages = std::max(stages, run.stages);
    told |= !run.messages.empty();
  }
  if (told) return stages;
  return std::max(stages, runs.front().world_size * static_cast<std::int32_t>(per_rank));
}

constexpr std::size_t kMostMissing = 4096;

[[noreturn]] void fail_missing(const std::vector<RankRun>& runs, std::int32_t stage, std::size_t missing_ranks) {
  if (missing_ranks == 0) {
    throw Error(runs.front().file + ": is of a pipeline whose stage " + std::to_string(stage) +
                " no rank of the job holds; expected the ranks of one run");
  }
  throw Error(runs.front().file + ": is of a pipeline whose stage " + std::to_string(stage) +
              " no given trace holds, and it cannot be told which of the " + std::to_string(missing_ranks) +
              " missing ranks does; expected the traces of all ranks of one pipeline");
}

}  // namespace

TracedPipeline traced_pipeline(const std::vector<RankRun>& runs) {
  std::set<std::int32_t> held;
  std::size_t per_rank = 0;
  for (const RankRun& run : runs) {
    const std::set<std::int32_t> stages = stages_of(run);
    per_rank = std::max(per_rank, stages.size());
    for (const std::int32_t stage : stages) {
      if (held.insert(stage).second) continue;
      throw Error(run.file + ": holds stage " + std::to_string(stage) +
                  ", as an earlier rank does; expected the traces of one pipeline, without its replicas");
    }
  }
  TracedPipeline pipeline;
  const std::int32_t stages = number_of_stages(runs, per_rank);
  const std::size_t missing_stages = static_cast<std::size_t>(stages) - held.size();
  const std::size_t missing_ranks = static_cast<std::size_t>(runs.front().world_size) - runs.size();
  if (missing_stages == 0) {
    for (std::size_t at = 0; at < runs.size(); ++at) {
      pipeline.ranks.push_back(runs[at].rank);
      pipeline.runs.emplace_back(at);
    }
    return pipeline;
  }
  if (missing_stages != missing_ranks * per_rank || missing_ranks > kMostMissing) {
    std::int32_t stage = 0;
    while (held.contains(stage)) ++stage;
    fail_missing(runs, stage, missing_ranks);
  }
  std::size_t at = 0;
  for (std::int32_t rank = 0; rank < runs.front().world_size; ++rank) {
    pipeline.ranks.push_back(rank);
    const bool here = at < runs.size() && runs[at].rank == rank;
    pipeline.runs.push_back(here ? std::optional(at++) : std::nullopt);
  }
  return pipeline;
}

}  // namespace plumb
