#include <algorithm>
#include <cmath>

#include "sim/planners/chain_stages.hpp"
#include "sim/planners/numbers.hpp"
#include "sim/planners/planner.hpp"

namespace plumb {

namespace {

/// GPipe's partition (Huang et al., 2019): contiguous cells, one to a device, whose costs vary least. Costs add up to
/// the same whatever the cut, so the least variance is the least sum of squares, found exactly by dynamic programming;
/// the plan gives the root of their mean.
Plan plan_gpipe(const PlanProblem& problem) {
  const LayerChain chain = chain_of(problem.network.layers);
  const std::size_t n = chain.size();
  const std::size_t cells = std::min(n, at(problem.num_devices()));
  std::vector<std::vector<double>> squares(cells + 1, std::vector<double>(n + 1, kNever));
  std::vector<std::vector<std::size_t>> from(cells + 1, std::vector<std::size_t>(n + 1, 0));
  squares[0][0] = 0;
  for (std::size_t k = 1; k <= cells; ++k) {
    for (std::size_t end = k; end <= n; ++end) {
      for (std::size_t begin = k - 1; begin < end; ++begin) {
        const auto cost = static_cast<double>(chain.total(begin, end));
        const double sum = squares[k - 1][begin] + cost * cost;
        if (sum >= squares[k][end]) continue;
        squares[k][end] = sum;
        from[k][end] = begin;
      }
    }
  }
  Plan plan;
  plan.claimed_ns = plan.lower_bound_ns = std::sqrt(squares[cells][n] / static_cast<double>(cells));
  plan.microbatches = problem.microbatches;
  plan.states = static_cast<std::int64_t>(n);
  std::size_t end = n;
  for (std::size_t k = cells; k > 0; --k) {
    const std::size_t begin = from[k][end];
    plan.stages.push_back(chain_stage(chain, begin, end, 1));
    plan.stages.back().load_ns = static_cast<double>(chain.total(begin, end));
    end = begin;
  }
  std::reverse(plan.stages.begin(), plan.stages.end());
  return plan;
}

}  // namespace

Planner gpipe_planner() {
  return {.name = "gpipe",
          .paper = "Huang et al., NeurIPS 2019",
          .year = 2019,
          .minimises = "variance of the stages' times, given as the root of their mean square",
          .uncertain = "costs are measured times; the released program estimated operations",
          .plan = plan_gpipe};
}

}  // namespace plumb
