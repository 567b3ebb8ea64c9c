#include <algorithm>
#include <cmath>
#include <compare>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "models/graphs/ideals.hpp"
#include "models/ground/error.hpp"
#include "sim/planners/numbers.hpp"
#include "sim/planners/piper_stage.hpp"
#include "sim/planners/planner.hpp"

namespace plumb {
namespace {

constexpr std::size_t kMostTailIdeals = 60'000;

/// A set of layers after a cut can run on this many devices, with this sum of data-parallel degrees.
struct TailPoint {
  std::int32_t devices = 0;
  std::int32_t copies = 0;

  friend auto operator<=>(const TailPoint&, const TailPoint&) = default;
};

/// Looks for the least largest stage time by asking whether a limit can be kept. Under a limit a stage holds so many
/// copies or fewer, so of two tails on equally many devices the one with fewer copies is as good: a set of layers needs
/// a front of devices against copies instead of a table over both.
class PiperSearch {
 public:
  PiperSearch(const VariantGraph& graph, const PlanProblem& problem, std::vector<NodeSet> sets)
      : graph_(graph), stop_(problem.stop), devices_(problem.num_devices()), sets_(std::move(sets)) {
    rates_.memory_bytes = static_cast<double>(problem.memory_bytes);
    rates_.microbatches = problem.microbatches;
    rates_.bytes_per_s = devices_ == 1 ? kNever : problem.bytes_per_s_between(devices_);
    rates_.most_copies = static_cast<std::int32_t>(std::min<std::int64_t>(problem.microbatches, devices_));
    for (std::int32_t d = 1; d <= rates_.most_copies; ++d) {
      if (problem.microbatches % d == 0) replicas_.push_back(d);
    }
    for (const TensorVariant& variant : graph.variants.front()) {
      if (degrees_.empty() || degrees_.back() != variant.degree) degrees_.push_back(variant.degree);
    }
    sum_work();
    if (sets_.size() <= kMostRememberedSets) stages_.resize(sets_.size() * (sets_.size() - 1) / 2);
  }

  /// The least time per microbatch, kNever when nothing fits. `known`: a time that is possible, kNever if none is
  /// known.
  double solve(double known) {
    bool close = known != kNever;  // what is known is most often the answer
    if (!close) {
      if (!fits_within(kNever)) return kNever;
      known = time_of(fronts_.size() - 1, fronts_.back().front(), kNever);
    }
    double low = least_work_.back() / devices_;
    while (low < known) {
      const double middle = low > 0 ? std::sqrt(low) * std::sqrt(known) : known / 2;
      const double limit = close ? std::nextafter(known, 0.0) : middle;
      if (fits_within(limit)) {
        known = time_of(fronts_.size() - 1, fronts_.back().front(), limit);
      } else if (close) {
        break;
      } else {
        low = limit;
      }
      close = known - low <= kClose * known;
    }
    return limit_ = known;
  }

  void append_stages(const PlanProblem& problem, Plan& plan) {
    fits_within(limit_);
    std::size_t end = sets_.size() - 1;
    for (TailPoint here = fronts_.back().front(); end > 0;) {
      const Step step = best_step(end, here);
      const std::size_t begin = at(step.from);
      NodeSet own = sets_[end];
      own -= sets_[begin];
      PlanStage stage;
      stage.replicas = step.replicas;
      stage.tensor_degree = step.degree;
      const std::int32_t held = (here.copies + step.replicas - 1) / step.replicas;
      const StageSums sums = PiperStage(graph_, rates_, own, step.degree).chosen(held, step.replicas);
      stage.recompute = sums.recompute;
      stage.load_ns = 1e9 * rates_.replicated(sums, step.replicas);
      own.for_each([&](std::size_t k) {
        if (!problem.network.layers.nodes[k].loads_data) stage.layers.push_back(static_cast<std::int32_t>(k));
      });
      plan.stages.push_back(std::move(stage));
      here = before(here, step);
      end = begin;
    }
  }

 private:
  struct Step {
    std::int32_t from = -1;
    std::int32_t degree = 0;
    std::int32_t replicas = 0;
    double slowest = kNever;  ///< of this stage and all after it
  };

  static TailPoint before(const TailPoint& point, const Step& step) {
    return {point.devices - step.degree * step.replicas, point.copies - step.replicas};
  }

  /// By set: the fastest variants of its layers at each degree, and device seconds at the best degree of each layer.
  void sum_work() {
    work_.assign(degrees_.size(), std::vector<double>(sets_.size(), 0));
    least_work_.assign(sets_.size(), 0);
    for (std::size_t set = 0; set < sets_.size(); ++set) {
      sets_[set].for_each([&](std::size_t layer) {
        double least = kNever;
        for (std::size_t t = 0; t < degrees_.size(); ++t) {
          double fastest = kNever;
          for (const TensorVariant& variant : graph_.variants[layer]) {
            if (variant.degree == degrees_[t]) fastest = std::min(fastest, variant.seconds);
          }
          work_[t][set] += fastest;
          least = std::min(least, fastest * degrees_[t]);
        }
        least_work_[set] += least;
      });
    }
  }

  /// The stage between two sets at the degree number `t`.
  PiperStage& stage(std::size_t begin, std::size_t end, std::size_t t) {
    const auto make = [&] {
      NodeSet own = sets_[end];
      own -= sets_[begin];
      return PiperStage(graph_, rates_, std::move(own), degrees_[t]);
    };
    if (stages_.empty()) return scratch_.emplace(make());
    std::vector<std::optional<PiperStage>>& all = stages_[end * (end - 1) / 2 + begin];
    if (all.empty()) all.resize(degrees_.size());
    if (!all[t]) all[t] = make();
    return *all[t];
  }

  /// Fills the fronts of all sets with what keeps every stage within `limit`; false when the whole network does not.
  bool fits_within(double limit) {
    fronts_.assign(sets_.size(), {});
    fronts_[0].push_back({0, 0});
    std::vector<std::int32_t> fewest(at(devices_ + 1));  // copies, by devices
    for (std::size_t end = 1; end < sets_.size(); ++end) {
      std::fill(fewest.begin(), fewest.end(), kNoCopies);
      const double rest = (least_work_.back() - least_work_[end]) * (1 - kRounding) / limit;  // devices
      const std::int32_t most = devices_ - (rest > devices_ ? devices_ : static_cast<std::int32_t>(std::ceil(rest)));
      for (std::size_t begin = 0; begin < end; ++begin) {
        stop_.check();
        if (!fronts_[begin].empty() && sets_[begin].is_subset_of(sets_[end]))
          add_stages(begin, end, limit, most, fewest);
      }
      std::int32_t least = kNoCopies;
      for (std::int32_t k = 0; k <= most; ++k) {
        if (fewest[at(k)] >= least) continue;
        least = fewest[at(k)];
        fronts_[end].push_back({k, least});
      }
    }
    return !fronts_.back().empty();
  }

  /// Puts a stage in front of everything that `begin` can be.
  void add_stages(std::size_t begin, std::size_t end, double limit, std::int32_t most,
                  std::vector<std::int32_t>& fewest) {
    for (std::size_t t = 0; t < degrees_.size(); ++t) {
      const double least = (work_[t][end] - work_[t][begin]) * (1 - kRounding);
      for (const std::int32_t d : replicas_) {
        const std::int32_t own = degrees_[t] * d;
        if (fronts_[begin].front().devices + own > most) break;
        if (least / d > limit) continue;
        const std::int32_t held = stage(begin, end, t).copies_within(limit, d);
        const std::int64_t room = std::min<std::int64_t>(std::int64_t{held} * d, rates_.most_copies) - d;
        for (const TailPoint& point : fronts_[begin]) {
          if (point.devices + own > most) break;
          if (point.copies > room) continue;
          std::int32_t& best = fewest[at(point.devices + own)];
          best = std::min(best, point.copies + d);
        }
      }
    }
  }

  /// Calls `visit(step, seconds)` for every stage within `limit` that makes `point` of `end` out of a point of a
  /// smaller set, until it returns true.
  template <class Visit>
  void each_step(std::size_t end, const TailPoint& point, double limit, Visit visit) {
    for (std::size_t begin = 0; begin < end; ++begin) {
      const std::vector<TailPoint>& front = fronts_[begin];
      if (front.empty() || !sets_[begin].is_subset_of(sets_[end])) continue;
      for (std::size_t t = 0; t < degrees_.size(); ++t) {
        for (const std::int32_t d : replicas_) {
          const TailPoint rest{point.devices - degrees_[t] * d, point.copies - d};
          if (rest.devices < 0 || rest.copies < 0) break;
          if (!std::binary_search(front.begin(), front.end(), rest)) continue;
          const double seconds = stage(begin, end, t).seconds((point.copies + d - 1) / d, d);
          const Step step{static_cast<std::int32_t>(begin), degrees_[t], d, kNever};
          if (seconds <= limit && visit(step, seconds)) return;
        }
      }
    }
  }

  /// The largest stage time of some plan for `point` of `end` within `limit`.
  double time_of(std::size_t end, TailPoint point, double limit) {
    double slowest = 0;
    while (end > 0) {
      Step first;
      each_step(end, point, limit, [&](const Step& step, double seconds) {
        slowest = std::max(slowest, seconds);
        first = step;
        return true;
      });
      end = at(first.from);
      point = before(point, first);
    }
    return slowest;
  }

  /// The first stage of the fastest plan for `point` of `end`; of equally fast ones the first one.
  Step best_step(std::size_t end, const TailPoint& point) {
    if (const auto found = steps_.find({end, point}); found != steps_.end()) return found->second;
    Step best;
    each_step(end, point, limit_, [&](Step step, double seconds) {
      const double rest = step.from == 0 ? 0 : best_step(at(step.from), before(point, step)).slowest;
      step.slowest = std::max(rest, seconds);
      if (step.slowest < best.slowest) best = step;
      return false;
    });
    return steps_[{end, point}] = best;
  }

  static constexpr std::int32_t kNoCopies = std::numeric_limits<std::int32_t>::max();
  static constexpr std::size_t kMostRememberedSets = 1000;
  static constexpr double kClose = 1e-4;     ///< of a limit: so near to what is known, what is known is the answer
  static constexpr double kRounding = 1e-9;  ///< of a sum

  const VariantGraph& graph_;
  StopSign stop_;
  PiperRates rates_;
  std::int32_t devices_ = 0;
  std::vector<std::int32_t> replicas_;
  std::vector<std::int32_t> degrees_;
  std::vector<NodeSet> sets_;                                   ///< closed under successors: what stands after a cut
  std::vector<std::vector<double>> work_;                       ///< by degree and set
  std::vector<double> least_work_;                              ///< by set
  std::vector<std::vector<std::optional<PiperStage>>> stages_;  ///< by pair of sets and degree; none of many sets
  std::optional<PiperStage> scratch_;
  std::vector<std::vector<TailPoint>> fronts_;  ///< by set, for the last limit: ascending devices, descending copies
  std::map<std::pair<std::size_t, TailPoint>, Step> steps_;  ///< what `best_step` has answered
  double limit_ = kNever;                                    ///< the answer of `solve`
};

/// A measured network without variants: every layer on one device, everything kept.
VariantGraph variants_of(const LayerGraph& layers) {
  VariantGraph graph;
  graph.before.resize(layers.size());
  graph.after.resize(layers.size());
  for (const LayerEdge& edge : layers.edges) {
    const bool free = layers.nodes[at(edge.from)].loads_data;
    const double bytes = free ? 0 : static_cast<double>(edge.bytes);
    graph.after[at(edge.from)].push_back({edge.to, bytes});
    graph.before[at(edge.to)].push_back({edge.from, bytes});
  }
  for (std::size_t k = 0; k < layers.size(); ++k) {
    const LayerNode& node = layers.nodes[k];
    TensorVariant plain;
    plain.id = "vanilla";
    plain.seconds = node.loads_data ? 0 : static_cast<double>(node.total_ns()) / 1e9;
    plain.parameter_bytes = static_cast<double>(node.parameter_bytes);
    plain.bytes_per_copy = static_cast<double>(node.stash_bytes);
    plain.bytes_fixed = plain.parameter_bytes;
    plain.receives_bytes.assign(graph.before[k].size(), 0);
    plain.sends_bytes.assign(graph.after[k].size(), 0);
    graph.id.push_back(static_cast<std::int64_t>(k));
    graph.label.push_back(node.id);
    graph.variants.push_back({std::move(plain)});
  }
  return graph;
}

std::vector<NodeSet> tails_of_chain(std::size_t n) {
  std::vector<NodeSet> sets{NodeSet(n)};
  for (std::size_t k = n; k-- > 0;) {
    sets.push_back(sets.back());
    sets.back().add(k);
  }
  return sets;
}

/// Piper (Tarnawski et al., NeurIPS 2021): the least time per microbatch of the slowest stage, over cuts, tensor
/// degree, data-parallel degree and recompute of every stage, within the memory of a device. States are the sets of
/// layers after a cut, the devices they use, and the sum of their data-parallel degrees, on which memory depends. A
/// chain is solved first; of the whole graph it is then asked first whether anything is faster.
Plan plan_piper(const PlanProblem& problem) {
  const VariantGraph graph = problem.network.variants ? *problem.network.variants : variants_of(problem.network.layers);
  PiperSearch chain(graph, problem, tails_of_chain(graph.size()));
  const double first = chain.solve(kNever);
  std::vector<std::vector<std::int32_t>> behind(graph.size());
  for (std::size_t k = 0; k < graph.size(); ++k) {
    for (const VariantEdge& edge : graph.after[k]) behind[k].push_back(edge.node);
  }
  std::vector<NodeSet> tails = ideals(behind, kMostTailIdeals);
  Plan plan;
  plan.states = static_cast<std::int64_t>(tails.size());
  PiperSearch full(graph, problem, std::move(tails));
  const double best = full.solve(first);
  if (best == kNever) throw Error("piper: the network does not fit into the memory of the devices");
  plan.claimed_ns = plan.lower_bound_ns = 1e9 * best;
  plan.microbatches = problem.microbatches;
  full.append_stages(problem, plan);
  return plan;
}

}  // namespace

Planner piper_planner() {
  return {.name = "piper",
          .paper = "Tarnawski et al., NeurIPS 2021",
          .year = 2021,
          .minimises = "time per microbatch of the slowest stage",
          .asked_up_to = {.layers = 200, .devices = 32},
          .plan = plan_piper};
}

}  // namespace plumb
