#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/planners/plan.hpp"
#include "sim/planners/problem.hpp"

namespace plumb {

/// Blocks [begin, end) that a server holds.
struct BlockSpan {
  std::int32_t begin = 0;
  std::int32_t end = 0;

  friend bool operator==(const BlockSpan&, const BlockSpan&) = default;
};

/// Where a server that can hold `blocks` joins a swarm whose blocks have these throughputs: the window whose sorted
/// throughputs are lexicographically least; of equal ones the first.
std::int32_t petals_start(std::span<const double> throughput, std::int32_t blocks);

/// Servers that join one after another, and the throughput of every block after the last.
struct Swarm {
  std::vector<BlockSpan> spans;  ///< by server
  std::vector<double> throughput;
};

/// Server k holds `blocks[k]` of `all` blocks and computes `speed[k]` of them per unit of time.
Swarm joined_swarm(std::int32_t all, std::span<const std::int32_t> blocks, std::span<const double> speed);

/// The devices of `problem` as servers of a network in forward mode: as many layers as their memory holds weights of,
/// at the mean forward time of a layer, in microbatches per second. Throws `Error` when a layer does not fit.
Swarm swarm_of(const PlanProblem& problem);

/// One stage per device, with the layers of its span; spans may overlap.
std::vector<PlanStage> stages_of_swarm(const PlanProblem& problem, const Swarm& swarm);

}  // namespace plumb
