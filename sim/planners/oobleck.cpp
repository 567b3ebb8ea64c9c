#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "models/ground/error.hpp"
#include "sim/planners/chain_stages.hpp"
#include "sim/planners/numbers.hpp"
#include "sim/planners/planner.hpp"
#include "sim/sharing/pipeline_instances.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kNoCut = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMostInstancesCounted = 1'000'000;
constexpr double kMostOobleckNodes = 100'000;

constexpr std::array kOobleckPlanOptions{
    NamedOption{"nodes", count_form("N", 1, kMostOobleckNodes), "none: nothing is counted",
                "counts the sets of pipelines that use so many nodes"},
    NamedOption{"least", count_form("N", 1, kMostOobleckNodes), 1, "nodes of the shortest pipeline of such a set"}};

/// Cuts of the beginnings and ends of a chain whose longest stage is as short as can be.
class EvenCuts {
 public:
  EvenCuts(const LayerChain& chain, std::size_t most_stages, const StopSign& stop) : chain_(chain), n_(chain.size()) {
    head_.assign(most_stages + 1, std::vector<std::int64_t>(n_ + 1, kNoCut));
    tail_ = head_;
    head_[0][0] = tail_[0][n_] = 0;
    for (std::size_t k = 1; k <= most_stages; ++k) {
      stop.check();
      for (std::size_t begin = 0; begin < n_; ++begin) {
        for (std::size_t end = begin + 1; end <= n_; ++end) {
          const std::int64_t stage = chain.total(begin, end);
          take(head_[k][end], head_[k - 1][begin], stage);
          take(tail_[k][begin], tail_[k - 1][end], stage);
        }
      }
    }
  }

  /// Longest stage of layers [0, `end`) in `stages`.
  std::int64_t head(std::size_t stages, std::size_t end) const { return head_[stages][end]; }
  /// Longest stage of layers from `begin` on in `stages`.
  std::int64_t tail(std::size_t stages, std::size_t begin) const { return tail_[stages][begin]; }

  /// Bounds of `stages` over [0, `end`), without 0.
  std::vector<std::size_t> head_bounds(std::size_t stages, std::size_t end) const {
    std::vector<std::size_t> bounds;
    for (std::size_t k = stages; k > 0; --k) {
      bounds.push_back(end);
      std::size_t begin = end - 1;
      while (std::max(head_[k - 1][begin], chain_.total(begin, end)) != head_[k][end]) --begin;
      end = begin;
    }
    std::reverse(bounds.begin(), bounds.end());
    return bounds;
  }

  /// Bounds of `stages` from `begin` on, without `begin`.
  std::vector<std::size_t> tail_bounds(std::size_t stages, std::size_t begin) const {
    std::vector<std::size_t> bounds;
    for (std::size_t k = stages; k > 0; --k) {
      std::size_t end = begin + 1;
      while (std::max(tail_[k - 1][end], chain_.total(begin, end)) != tail_[k][begin]) ++end;
      bounds.push_back(end);
      begin = end;
    }
    return bounds;
  }

 private:
  static void take(std::int64_t& best, std::int64_t rest, std::int64_t stage) {
    if (rest != kNoCut) best = std::min(best, std::max(rest, stage));
  }

  const LayerChain& chain_;
  std::size_t n_;
  std::vector<std::vector<std::int64_t>> head_;
  std::vector<std::vector<std::int64_t>> tail_;
};

/// Where the longest stage lies, and what the template takes.
struct Template {
  std::int64_t ns = kNoCut;
  std::size_t place = 0;  ///< of the longest stage
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// How many sets of pipelines of `least` nodes up to as many as there are devices use all of the nodes that are asked
/// about.
void count_instances(const PlanProblem& problem, Plan& plan) {
  const OptionReader options(kOobleckPlanOptions, problem.options);
  if (!options.has("nodes")) {
    if (options.has("least")) throw Error("option least: expected option nodes with it");
    return;
  }
  const auto nodes = static_cast<std::int64_t>(options.number("nodes", 1));
  const std::int64_t least = options.count("least");
  if (least > problem.num_devices()) throw Error("option least: expected at most as many nodes as devices");
  std::vector<std::int32_t> sizes;
  for (auto size = static_cast<std::int32_t>(least); size <= problem.num_devices(); ++size) sizes.push_back(size);
  for_each_instance(static_cast<std::int32_t>(nodes), sizes, [&](const InstanceCounts&) {
    problem.stop.check();
    return ++plan.instances < kMostInstancesCounted;
  });
  plan.remarks.push_back((plan.instances == kMostInstancesCounted ? "at least " : "") + std::to_string(plan.instances) +
                         " sets of pipelines of " + std::to_string(least) + " to " +
                         std::to_string(problem.num_devices()) + " nodes use " + std::to_string(nodes) + " nodes");
}

/// Oobleck's pipeline template (Jang et al., SOSP 2023): T1 + T2 + T3, where T1 is the time of all S stages, T2 = (2 S
/// + k + 1) t with the longest stage k (counted from 0, of equal ones the last) and its time t, and T3 the time of the
/// stages from k on; of a single stage T2 is 2 t. Its program divides layers and nodes recursively and keeps the best
/// of each part; this tries every longest stage, so that no cut has a shorter time. Option `nodes` counts the sets of
/// pipelines, of `least` nodes up to as many as there are devices, that use so many nodes.
Plan plan_oobleck(const PlanProblem& problem) {
  const LayerChain chain = chain_of(problem.network.layers);
  const std::size_t n = chain.size();
  const std::size_t stages = std::min(n, at(problem.num_devices()));
  const EvenCuts cuts(chain, stages, problem.stop);
  const std::int64_t all = chain.total(0, n);
  Template best;
  for (std::size_t begin = 0; begin < n; ++begin) {
    for (std::size_t end = begin + 1; end <= n; ++end) {
      const std::int64_t longest = chain.total(begin, end);
      for (std::size_t k = 0; k < stages; ++k) {
        const std::int64_t before = cuts.head(k, begin);
        const std::int64_t after = cuts.tail(stages - k - 1, end);
        if (before > longest || after >= longest) continue;
        const auto factor = static_cast<std::int64_t>(stages == 1 ? 2 : 2 * stages + k + 1);
        const std::int64_t ns = all + factor * longest + chain.total(begin, n);
        if (ns < best.ns) best = {ns, k, begin, end};
      }
    }
  }
  std::vector<std::size_t> bounds = cuts.head_bounds(best.place, best.begin);
  bounds.push_back(best.end);
  for (const std::size_t bound : cuts.tail_bounds(stages - best.place - 1, best.end)) bounds.push_back(bound);
  Plan plan;
  plan.claimed_ns = plan.lower_bound_ns = static_cast<double>(best.ns);
  plan.microbatches = problem.microbatches;
  plan.states = static_cast<std::int64_t>(n * (n + 1) / 2 * stages);
  std::size_t begin = 0;
  for (const std::size_t end : bounds) {
    plan.stages.push_back(chain_stage(chain, begin, end, 1));
    plan.stages.back().load_ns = static_cast<double>(chain.total(begin, end));
    begin = end;
  }
  plan.remarks.push_back("the longest stage is stage " + std::to_string(best.place));
  count_instances(problem, plan);
  return plan;
}

}  // namespace

Planner oobleck_planner() {
  return {.name = "oobleck",
          .paper = "Jang et al., SOSP 2023",
          .year = 2023,
          .minimises = "time of a pipeline template, T1 + T2 + T3",
          .options = kOobleckPlanOptions,
          .uncertain = "a template of as many stages as there are devices; nodes of several devices are not divided",
          .plan = plan_oobleck};
}

}  // namespace plumb
