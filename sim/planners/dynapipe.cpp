#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <string>

#include "models/ground/error.hpp"
#include "sim/planners/chain_stages.hpp"
#include "sim/planners/numbers.hpp"
#include "sim/planners/planner.hpp"

namespace plumb {
namespace {

constexpr std::array kDynapipeOptions{NamedOption{
    "lengths", list_form("L,L,..."), "all 1", "lengths of the samples, relative to the profiled ones, over and over"}};

constexpr std::size_t kMostSamples = 4096;
/// Values of the longest microbatch that are tried.
constexpr std::size_t kMostLimits = 1000;

/// Lengths of the samples relative to what was profiled, from "4,1,2.5", over and over; all 1 without it.
std::vector<double> lengths_of(const PlanProblem& problem) {
  const std::string* option = OptionReader(kDynapipeOptions, problem.options).text("lengths");
  std::vector<double> given;
  for (std::size_t at_char = 0; option != nullptr && at_char <= option->size();) {
    const std::size_t comma = std::min(option->find(',', at_char), option->size());
    const char* end = option->data() + comma;
    const auto [read, failed] = std::from_chars(option->data() + at_char, end, given.emplace_back());
    if (failed != std::errc{} || read != end || !(given.back() > 0 && given.back() < kMostPlannerNumber)) {
      throw Error("option lengths: expected numbers above 0 with commas, found '" + *option + "'");
    }
    at_char = comma + 1;
  }
  if (given.empty()) given.push_back(1);
  std::vector<double> lengths;
  const auto samples = static_cast<std::size_t>(std::min<std::int64_t>(problem.microbatches, kMostSamples));
  for (std::size_t k = 0; k < std::max(samples, option == nullptr ? 1 : given.size()); ++k) {
    lengths.push_back(given[k % given.size()]);
  }
  std::sort(lengths.begin(), lengths.end());
  return lengths;
}

/// Sorted samples in groups; a group is padded to its longest.
struct Groups {
  double objective = kNever;
  std::vector<std::size_t> ends;
};

class GroupSearch {
 public:
  GroupSearch(const PlanProblem& problem, const LayerChain& chain, std::vector<double> lengths, double unit_ns)
      : problem_(problem), chain_(chain), lengths_(std::move(lengths)), unit_ns_(unit_ns) {}

  double group_ns(std::size_t begin, std::size_t end) const {
    return unit_ns_ * static_cast<double>(end - begin) * lengths_[end - 1];
  }

  /// g(n) = min over i < n with t(i..n) <= limit of g(i) + t(i..n); then (stages - 1) limit + g(N).
  Groups solve(double limit, std::size_t stages) const {
    const std::size_t n = lengths_.size();
    std::vector<double> sum(n + 1, kNever);
    std::vector<std::size_t> from(n + 1, 0);
    sum[0] = 0;
    for (std::size_t end = 1; end <= n; ++end) {
      problem_.stop.check();
      for (std::size_t begin = end; begin-- > 0;) {
        const double own = group_ns(begin, end);
        if (own > limit * (1 + 1e-12) || !fits(begin, end, stages)) break;  // more samples only need more
        if (sum[begin] + own >= sum[end]) continue;
        sum[end] = sum[begin] + own;
        from[end] = begin;
      }
    }
    Groups groups;
    if (sum[n] == kNever) return groups;
    groups.objective = static_cast<double>(stages - 1) * limit + sum[n];
    for (std::size_t end = n; end > 0; end = from[end]) groups.ends.push_back(end);
    std::reverse(groups.ends.begin(), groups.ends.end());
    return groups;
  }

  /// What a group may take: all different times, or evenly chosen ones of them.
  std::vector<double> limits() const {
    std::vector<double> all;
    for (std::size_t end = 1; end <= lengths_.size(); ++end) {
      for (std::size_t count = 1; count <= std::min<std::size_t>(end, 64); ++count) {
        all.push_back(group_ns(end - count, end));
      }
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    if (all.size() <= kMostLimits) return all;
    std::vector<double> some;
    for (std::size_t k = 1; k <= kMostLimits; ++k) some.push_back(all[k * all.size() / kMostLimits - 1]);
    return some;
  }

 private:
  bool fits(std::size_t begin, std::size_t end, std::size_t stages) const {
    if (problem_.memory_bytes == 0) return true;
    const double padded = static_cast<double>(end - begin) * lengths_[end - 1];
    const auto share = static_cast<double>(stages);  // the first of that many stages keeps as many microbatches
    const double bytes = 2 * static_cast<double>(chain_.parameters(0, chain_.size())) / share +
                         padded * static_cast<double>(chain_.activations(0, chain_.size()));
    return bytes <= static_cast<double>(problem_.memory_bytes);
  }

  const PlanProblem& problem_;
  const LayerChain& chain_;
  std::vector<double> lengths_;
  double unit_ns_;
};

/// DynaPipe's program of microbatches (EuroSys 2024): samples sorted by length are put into microbatches, each padded
/// to its longest sample, on a balanced pipeline of c stages; for every limit t_max on a microbatch
///
///     g(n) = min over i < n, t(i..n) <= t_max, memory of g(i) + t(i..n);    minimised: (c - 1) t_max + g(N)
///
/// `lengths` are those of the samples, over and over for all microbatches of the update.
Plan plan_dynapipe(const PlanProblem& problem) {
  const LayerChain chain = chain_of(problem.network.layers);
  const std::size_t stages = std::min(chain.size(), at(problem.num_devices()));
  const std::vector<std::size_t> bounds = balanced_bounds(chain, static_cast<std::int32_t>(stages));
  Plan plan;
  double slowest = 0;
  for (std::size_t s = 0; s < stages; ++s) {
    plan.stages.push_back(chain_stage(chain, bounds[s], bounds[s + 1], 1));
    plan.stages.back().load_ns = static_cast<double>(chain.total(bounds[s], bounds[s + 1]));
    slowest = std::max(slowest, plan.stages.back().load_ns);
  }
  const GroupSearch search(problem, chain, lengths_of(problem), slowest);
  Groups best;
  for (const double limit : search.limits()) {
    if (static_cast<double>(stages - 1) * limit >= best.objective) break;
    Groups groups = search.solve(limit, stages);
    ++plan.states;
    if (groups.objective < best.objective) best = std::move(groups);
  }
  if (best.ends.empty()) throw Error("dynapipe: a sample does not fit into the memory of the devices");
  plan.claimed_ns = best.objective;
  plan.microbatches = static_cast<std::int64_t>(best.ends.size());
  if (problem.options.contains("lengths")) {
    std::string remark = "samples per microbatch, shortest first:";
    for (std::size_t g = 0; g < best.ends.size(); ++g) {
      remark += " " + std::to_string(best.ends[g] - (g == 0 ? 0 : best.ends[g - 1]));
    }
    plan.remarks.push_back(std::move(remark));
  }
  return plan;
}

}  // namespace

Planner dynapipe_planner() {
  return {.name = "dynapipe",
          .paper = "Jiang et al., EuroSys 2024",
          .year = 2024,
          .minimises = "(c - 1) longest microbatch + all microbatches, samples of unlike length",
          .options = kDynapipeOptions,
          .uncertain =
              "the pipeline itself is balanced by compute; limits on a microbatch are up to 1000 of its "
              "possible times",
          .plan = plan_dynapipe};
}

}  // namespace plumb
