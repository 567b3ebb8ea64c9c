#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/traces/readers/rank_run.hpp"

namespace plumb {

/// The devices of a traced pipeline, in order of rank.
struct TracedPipeline {
  std::vector<std::int32_t> ranks;               ///< by device
  std::vector<std::optional<std::size_t>> runs;  ///< by device: which of the runs; nothing where its trace is missing
};

/// Which ranks make up the pipeline. Where the given ranks hold all stages, they are the pipeline, and other ranks of
/// the job (replicas, tensor parallel ranks) are none of its business. Otherwise the missing ranks must hold the
/// missing stages, as many each as the others do, and become devices without a trace.
///
/// Requires `runs` in order of rank. Throws `Error` where two ranks hold the same stage, and where the missing stages
/// cannot be those of the missing ranks.
TracedPipeline traced_pipeline(const std::vector<RankRun>& runs);

}  // namespace plumb
