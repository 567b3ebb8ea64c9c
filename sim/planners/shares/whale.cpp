#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "models/ground/error.hpp"
#include "sim/planners/chain_stages.hpp"
#include "sim/planners/numbers.hpp"
#include "sim/planners/planner.hpp"

namespace plumb {

namespace {

/// Whale (Jia et al., ATC 2022): data parallelism over unlike devices, whose shares of the batch follow their speed and
/// keep to their memory. Its moves of load end in the same place as this: microbatches are given one by one to the
/// device that would be done first, as long as it has room, which makes the longest share as short as can be.
Plan plan_whale(const PlanProblem& problem) {
  problem.stop.check();
  const LayerChain chain = chain_of(problem.network.layers);
  const std::int32_t n = problem.num_devices();
  const auto each = static_cast<double>(chain.total(0, chain.size()));
  const auto states = static_cast<std::int64_t>(kStateCopies) * chain.parameters(0, chain.size());
  const std::int64_t kept = std::max<std::int64_t>(1, chain.activations(0, chain.size()));
  std::vector<std::int64_t> room;
  for (std::int32_t device = 0; device < n; ++device) {
    const std::int64_t memory = problem.memory_of(device);
    const std::int64_t most = memory > 0 ? std::max<std::int64_t>(0, memory - states) / kept : problem.microbatches;
    room.push_back(std::min(most, problem.microbatches));
  }
  if (std::accumulate(room.begin(), room.end(), std::int64_t{0}) < problem.microbatches) {
    throw Error("whale: " + std::to_string(problem.microbatches) +
                " microbatches do not fit into the memory of the devices together");
  }
  std::vector<std::int64_t> shares(at(n), 0);
  const auto done = [&](std::size_t device) {
    return static_cast<double>(shares[device] + 1) * each / problem.speed_of(static_cast<std::int32_t>(device));
  };
  for (std::int64_t given = 0; given < problem.microbatches; ++given) {
    std::size_t first = shares.size();
    for (std::size_t device = 0; device < shares.size(); ++device) {
      if (shares[device] >= room[device]) continue;
      if (first == shares.size() || done(device) < done(first)) first = device;
    }
    ++shares[first];
  }
  double longest = 0;
  std::string text = "shares of the batch:";
  for (std::size_t device = 0; device < shares.size(); ++device) {
    const double speed = problem.speed_of(static_cast<std::int32_t>(device));
    longest = std::max(longest, static_cast<double>(shares[device]) * each / speed);
    text += " " + std::to_string(shares[device]);
  }
  Plan plan;
  const double reduced =
      n > 1 ? ring_ns(static_cast<double>(chain.parameters(0, chain.size())), n, problem.bytes_per_s_between(n)) : 0;
  plan.claimed_ns = plan.lower_bound_ns = longest + reduced;
  plan.microbatches = problem.microbatches;
  plan.states = problem.microbatches;
  plan.stages.push_back(chain_stage(chain, 0, chain.size(), n));
  plan.stages.back().load_ns = longest;
  if (!problem.speed.empty() || !problem.memory_by_device.empty()) plan.shares = shares;
  plan.remarks.push_back(text);
  return plan;
}

}  // namespace

Planner whale_planner() {
  return {.name = "whale",
          .paper = "Jia et al., ATC 2022",
          .year = 2022,
          .minimises = "longest share of a batch among data-parallel devices of unlike speed",
          .uncertain = "its moves of load are replaced by the exact answer; shares are whole microbatches",
          .plan = plan_whale};
}

}  // namespace plumb
