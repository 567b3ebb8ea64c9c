#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "models/ground/error.hpp"
#include "sim/planners/chain_stages.hpp"
#include "sim/planners/numbers.hpp"
#include "sim/planners/planner.hpp"

namespace plumb {
namespace {

constexpr double kUnevenness = 0.5;  // how far a group may be above the average
constexpr std::size_t kMostLayerGroups = 24;

constexpr std::array kAlpaOptions{
    NamedOption{"groups", count_form("N", 1, kMostLayerGroups), 16, "groups that the layers are put into"}};

/// Ends of the layer groups: the fewest bytes into the group that takes most, no group much longer than the average.
std::vector<std::size_t> layer_groups(const LayerChain& chain, std::size_t count) {
  const std::size_t n = chain.size();
  double most_layer = 0;
  for (std::size_t k = 0; k < n; ++k) most_layer = std::max(most_layer, static_cast<double>(chain.total(k, k + 1)));
  const double average = static_cast<double>(chain.total(0, n)) / static_cast<double>(count);
  for (double allowed = std::max(most_layer, average * (1 + kUnevenness));; allowed *= 1.25) {
    std::vector<std::vector<double>> best(count + 1, std::vector<double>(n + 1, kNever));
    std::vector<std::vector<std::size_t>> from(count + 1, std::vector<std::size_t>(n + 1, 0));
    best[0][0] = 0;
    for (std::size_t g = 1; g <= count; ++g) {
      for (std::size_t j = g; j <= n; ++j) {
        for (std::size_t i = j; i-- > g - 1 && static_cast<double>(chain.total(i, j)) <= allowed;) {
          const double bytes = std::max(best[g - 1][i], static_cast<double>(chain.cut_bytes[i]));
          if (bytes >= best[g][j]) continue;
          best[g][j] = bytes;
          from[g][j] = i;
        }
      }
    }
    if (best[count][n] == kNever) continue;
    std::vector<std::size_t> bounds(count + 1, n);
    for (std::size_t g = count; g-- > 0;) bounds[g] = from[g + 1][bounds[g + 1]];
    return bounds;
  }
}

class AlpaSearch {
 public:
  AlpaSearch(const PlanProblem& problem, const LayerChain& chain, std::vector<std::size_t> bounds)
      : problem_(problem),
        chain_(chain),
        bounds_(std::move(bounds)),
        groups_(bounds_.size() - 1),
        devices_(static_cast<std::size_t>(problem.num_devices())) {
    const std::int32_t per_node = problem.levels.front().count;
    for (std::int32_t count = 1; count < per_node; count *= 2) shapes_.push_back(static_cast<std::size_t>(count));
    for (std::int32_t count = per_node; count <= problem.num_devices(); count += per_node) {
      shapes_.push_back(static_cast<std::size_t>(count));
    }
  }

  Plan solve() {
    for (std::size_t i = 0; i < groups_; ++i) {
      for (std::size_t j = i + 1; j <= groups_; ++j) {
        for (const std::size_t count : shapes_) stages_.push_back(stage_on(i, j, count));
      }
    }
    std::vector<double> bounds;
    for (const StageOn& stage : stages_) bounds.push_back(stage.ns);
    std::sort(bounds.begin(), bounds.end());
    Plan best;
    best.claimed_ns = kNever;
    double last = -1;
    for (const double limit : bounds) {
      if (limit - last < 1e-6 * limit) continue;
      last = limit;
      if (static_cast<double>(problem_.microbatches) * limit >= best.claimed_ns) break;
      try_limit(limit, best);
    }
    if (best.stages.empty()) throw Error("alpa: the network does not fit into the memory of the devices");
    best.microbatches = problem_.microbatches;
    best.states = static_cast<std::int64_t>(groups_);
    return best;
  }

 private:
  /// A stage of groups [i, j) on a mesh: compute is shared; gradients are reduced once per update.
  double stage_ns(std::size_t i, std::size_t j, std::size_t count) const {
    const auto devices = static_cast<std::int32_t>(count);
    const double sync = ring_ns(static_cast<double>(chain_.parameters(bounds_[i], bounds_[j])), devices,
                                problem_.bytes_per_s_between(devices));
    return static_cast<double>(chain_.total(bounds_[i], bounds_[j])) / devices +
           sync / static_cast<double>(problem_.microbatches);
  }

  /// Groups [begin, end) on a mesh.
  struct StageOn {
    std::size_t end = 0;
    std::size_t count = 0;
    double ns = 0;
    double state = 0;  ///< bytes that are there all the time
    double kept = 0;   ///< bytes of a microbatch
  };

  StageOn stage_on(std::size_t i, std::size_t j, std::size_t count) const {
    return {.end = j,
            .count = count,
            .ns = stage_ns(i, j, count),
            .state = kStateCopies * static_cast<double>(chain_.parameters(bounds_[i], bounds_[j])),
            .kept = static_cast<double>(chain_.activations(bounds_[i], bounds_[j])) / static_cast<double>(count)};
  }

  /// With `behind` stages after it, itself included, in flight.
  bool fits(const StageOn& stage, std::size_t behind) const {
    return problem_.memory_bytes == 0 ||
           stage.state + static_cast<double>(behind) * stage.kept <= static_cast<double>(problem_.memory_bytes);
  }

  /// The stages that begin with group k, by end, then mesh.
  std::span<const StageOn> stages_from(std::size_t k) const {
    const std::size_t before = k * (2 * groups_ + 1 - k) / 2;  // ends of the stages that begin earlier
    return std::span(stages_).subspan(before * shapes_.size(), (groups_ - k) * shapes_.size());
  }

  struct Choice {
    std::size_t end = 0;
    std::size_t count = 0;
  };

  std::size_t place(std::size_t s, std::size_t k, std::size_t d) const {
    return (s * (groups_ + 1) + k) * (devices_ + 1) + d;
  }

  /// F(s, k, d): least sum of stage times for the groups from k on, in s stages on exactly d devices, none above limit.
  void try_limit(double limit, Plan& best) {
    const std::size_t most = std::min(groups_, devices_);
    sum_.assign((most + 1) * (groups_ + 1) * (devices_ + 1), kNever);
    choice_.resize(sum_.size());  // read only where there is a sum
    sum_[place(0, groups_, 0)] = 0;
    for (std::size_t s = 1; s <= most; ++s) {
      for (std::size_t k = groups_; k-- > 0;) {
        problem_.stop.check();
        for (const StageOn& stage : stages_from(k)) {
          if (stage.ns <= limit && fits(stage, s)) put_first(stage, s, k);
        }
      }
      take(s, best);
    }
  }

  /// Takes `stage` as the first one of s, from group k on, where that is better.
  void put_first(const StageOn& stage, std::size_t s, std::size_t k) {
    const double* rest = &sum_[place(s - 1, stage.end, 0)];
    double* sums = &sum_[place(s, k, stage.count)];
    Choice* choices = &choice_[place(s, k, stage.count)];
    for (std::size_t d = 0; d + stage.count <= devices_; ++d) {
      const double sum = stage.ns + rest[d];
      if (sum >= sums[d]) continue;
      sums[d] = sum;
      choices[d] = {stage.end, stage.count};
    }
  }

  /// The plan of s stages, scored with its own slowest stage.
  void take(std::size_t stages, Plan& best) const {
    if (sum_[place(stages, 0, devices_)] == kNever) return;
    Plan plan;
    double slowest = 0;
    for (std::size_t s = stages, k = 0, d = devices_; s > 0; --s) {
      const Choice choice = choice_[place(s, k, d)];
      plan.stages.push_back(
          chain_stage(chain_, bounds_[k], bounds_[choice.end], static_cast<std::int32_t>(choice.count)));
      plan.stages.back().load_ns = stage_ns(k, choice.end, choice.count);
      slowest = std::max(slowest, plan.stages.back().load_ns);
      k = choice.end;
      d -= choice.count;
    }
    plan.claimed_ns = sum_[place(stages, 0, devices_)] + static_cast<double>(problem_.microbatches - 1) * slowest;
    if (plan.claimed_ns < best.claimed_ns) best = std::move(plan);
  }

  const PlanProblem& problem_;
  const LayerChain& chain_;
  std::vector<std::size_t> bounds_;
  std::size_t groups_;
  std::size_t devices_;
  std::vector<std::size_t> shapes_;  ///< devices of a mesh
  std::vector<StageOn> stages_;      ///< by first group, then end, then mesh
  std::vector<double> sum_;
  std::vector<Choice> choice_;
};

/// Alpa's inter-operator program (OSDI 2022): layers are grouped, then for every bound t_max on a stage the least sum
/// of stage times is found over groups and meshes (a power of two inside a node, or whole nodes) that use every device;
/// minimised is that sum + (m - 1) times the slowest stage.
Plan plan_alpa(const PlanProblem& problem) {
  const LayerChain chain = chain_of(problem.network.layers);
  const auto asked = static_cast<std::size_t>(OptionReader(kAlpaOptions, problem.options).count("groups"));
  return AlpaSearch(problem, chain, layer_groups(chain, std::min(asked, chain.size()))).solve();
}

}  // namespace

Planner alpa_planner() {
  return {.name = "alpa",
          .paper = "Zheng et al., OSDI 2022",
          .year = 2022,
          .minimises = "sum of stage times + (m - 1) slowest stage",
          .options = kAlpaOptions,
          .uncertain =
              "times inside a mesh are not its solver's: compute is shared evenly and gradients are reduced by a ring",
          .asked_up_to = {.layers = 2000, .devices = 64},
          .plan = plan_alpa};
}

}  // namespace plumb
