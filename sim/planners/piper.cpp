#include <algorithm>
#include <limits>
#include <utility>

#include "models/graphs/ideals.hpp"
#include "models/ground/error.hpp"
#include "sim/planners/methods.hpp"
#include "sim/planners/numbers.hpp"

namespace plumb {
namespace {

constexpr std::size_t kMostTailIdeals = 60'000;

/// Time, weights and communication of a stage at one tensor degree, before it is replicated.
struct StageSums {
  double seconds = kNever;  ///< kNever: does not fit
  double parameter_bytes = 0;
  double edge_bytes = 0;  ///< over cut edges, synchronisation included
  bool recompute = false;
};

/// Switching a layer from its fastest variant to a leaner one.
struct Switch {
  double ratio = 0;  ///< extra time per byte saved
  double seconds = 0;
  double bytes = 0;
  std::size_t layer = 0;
  std::size_t variant = 0;
};

class PiperSearch {
 public:
  PiperSearch(const VariantGraph& graph, const PlanProblem& problem, std::vector<NodeSet> sets)
      : graph_(graph), stop_(problem.stop), memory_(static_cast<double>(problem.memory_bytes)), sets_(std::move(sets)) {
    devices_ = problem.num_devices();
    microbatches_ = problem.microbatches;
    bytes_per_s_ = devices_ == 1 ? kNever : problem.bytes_per_s_between(devices_);
    most_copies_ = static_cast<std::int32_t>(std::min<std::int64_t>(microbatches_, devices_));
    for (std::int32_t d = 1; d <= most_copies_; ++d) {
      if (microbatches_ % d == 0) replicas_.push_back(d);
    }
    for (const TensorVariant& variant : graph.variants.front()) {
      if (degrees_.empty() || degrees_.back() != variant.degree) degrees_.push_back(variant.degree);
    }
  }

  /// The least time per microbatch below `limit`; `limit` when there is none.
  double solve(double limit) {
    limit_ = limit;
    value_.assign(sets_.size() * row(), kNever);
    from_.assign(value_.size(), {});
    value_[0] = 0;
    for (std::size_t end = 1; end < sets_.size(); ++end) {
      for (std::size_t begin = 0; begin < end; ++begin) {
        stop_.check();
        if (sets_[begin].is_subset_of(sets_[end])) add_stages(begin, end);
      }
    }
    best_ = (sets_.size() - 1) * row();
    for (std::size_t k = best_; k < value_.size(); ++k) {
      if (value_[k] < value_[best_]) best_ = k;
    }
    return std::min(limit, value_[best_]);
  }

  void append_stages(const PlanProblem& problem, Plan& plan) const {
    for (std::size_t here = best_; here >= row();) {
      const Step step = from_[here];
      const std::size_t end = here / row();
      const std::size_t begin = at(step.from);
      const std::int32_t copies = static_cast<std::int32_t>(here % at(most_copies_ + 1));
      const std::int32_t used = static_cast<std::int32_t>(here % row() / at(most_copies_ + 1));
      NodeSet own = sets_[end];
      own -= sets_[begin];
      PlanStage stage;
      stage.replicas = step.replicas;
      stage.tensor_degree = step.degree;
      const StageSums sums = stage_sums(members(own), own, step.degree, (copies + step.replicas - 1) / step.replicas);
      stage.recompute = sums.recompute;
      stage.load_ns = 1e9 * replicated(sums, step.replicas);
      own.for_each([&](std::size_t k) {
        if (!problem.network.layers.nodes[k].loads_data) stage.layers.push_back(static_cast<std::int32_t>(k));
      });
      plan.stages.push_back(std::move(stage));
      here = begin * row() + at(used - step.degree * step.replicas) * at(most_copies_ + 1) + at(copies - step.replicas);
    }
  }

 private:
  struct Step {
    std::int32_t from = -1;
    std::int32_t degree = 0;
    std::int32_t replicas = 0;
  };

  /// Entries by devices used and by sum of replicas, per set.
  std::size_t row() const { return at(devices_ + 1) * at(most_copies_ + 1); }

  static std::vector<std::size_t> members(const NodeSet& set) {
    std::vector<std::size_t> list;
    set.for_each([&](std::size_t k) { list.push_back(k); });
    return list;
  }

  double bytes(const TensorVariant& variant, std::int32_t copies) const {
    return variant.bytes_per_copy * copies + variant.bytes_fixed;
  }

  /// The variants of a stage by Piper's heuristic: the fastest everywhere; while it does not fit, the switch with the
  /// least extra time per byte saved.
  StageSums stage_sums(const std::vector<std::size_t>& layers, const NodeSet& own, std::int32_t degree,
                       std::int32_t copies) const {
    std::vector<std::size_t> chosen(layers.size());
    std::vector<Switch> switches;
    double used = 0;
    double leanest = 0;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const std::vector<TensorVariant>& all = graph_.variants[layers[i]];
      std::size_t fastest = all.size();
      double least = kNever;
      for (std::size_t x = 0; x < all.size(); ++x) {
        if (all[x].degree != degree) continue;
        if (fastest == all.size() || all[x].seconds < all[fastest].seconds) fastest = x;
        least = std::min(least, bytes(all[x], copies));
      }
      if (fastest == all.size()) return {};
      chosen[i] = fastest;
      used += bytes(all[fastest], copies);
      leanest += least;
      for (std::size_t x = 0; x < all.size(); ++x) {
        const double saved = bytes(all[fastest], copies) - bytes(all[x], copies);
        const double extra = all[x].seconds - all[fastest].seconds;
        if (all[x].degree == degree && saved > 0) switches.push_back({extra / saved, extra, saved, i, x});
      }
    }
    if (memory_ > 0 && leanest > memory_) return {};
    if (memory_ > 0 && used > memory_) switch_until_it_fits(switches, used, chosen);
    return sums_of(layers, own, chosen);
  }

  void switch_until_it_fits(std::vector<Switch>& switches, double used, std::vector<std::size_t>& chosen) const {
    std::stable_sort(switches.begin(), switches.end(),
                     [](const Switch& a, const Switch& b) { return a.ratio < b.ratio; });
    std::vector<double> saved(chosen.size(), 0);
    for (const Switch& one : switches) {
      if (used <= memory_) return;
      if (one.bytes <= saved[one.layer]) continue;
      used -= one.bytes - saved[one.layer];
      saved[one.layer] = one.bytes;
      chosen[one.layer] = one.variant;
    }
  }

  StageSums sums_of(const std::vector<std::size_t>& layers, const NodeSet& own,
                    const std::vector<std::size_t>& chosen) const {
    StageSums sums{0, 0, 0, false};
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const std::size_t k = layers[i];
      const TensorVariant& variant = graph_.variants[k][chosen[i]];
      sums.seconds += variant.seconds;
      sums.parameter_bytes += variant.parameter_bytes;
      sums.recompute = sums.recompute || variant.id == "activation recomp";
      for (std::size_t e = 0; e < graph_.before[k].size(); ++e) {
        const VariantEdge& edge = graph_.before[k][e];
        if (!own.has(at(edge.node))) sums.edge_bytes += edge.bytes + variant.receives_bytes[e];
      }
      for (std::size_t e = 0; e < graph_.after[k].size(); ++e) {
        const VariantEdge& edge = graph_.after[k][e];
        if (!own.has(at(edge.node))) sums.edge_bytes += edge.bytes + variant.sends_bytes[e];
      }
    }
    return sums;
  }

  double replicated(const StageSums& sums, std::int32_t d) const {
    const double share = 1.0 / d;
    const double transferred =
        2 * share * sums.edge_bytes + 4 * (d - 1) * share / static_cast<double>(microbatches_) * sums.parameter_bytes;
    return sums.seconds * share + transferred / bytes_per_s_;
  }

  void add_stages(std::size_t begin, std::size_t end) {
    NodeSet own = sets_[end];
    own -= sets_[begin];
    const std::vector<std::size_t> layers = members(own);
    for (const std::int32_t degree : degrees_) {
      double least = 0;
      for (const std::size_t k : layers) {
        double fastest = kNever;
        for (const TensorVariant& variant : graph_.variants[k]) {
          if (variant.degree == degree) fastest = std::min(fastest, variant.seconds);
        }
        least += fastest;
      }
      std::vector<StageSums> by_copies(at(most_copies_ + 1));
      std::vector<bool> known(at(most_copies_ + 1), false);
      for (const std::int32_t d : replicas_) {
        if (degree * d > devices_) break;
        if (least / d >= limit_) continue;
        for (std::int32_t s = d; s <= most_copies_; ++s) {
          const std::int32_t y = (s + d - 1) / d;
          if (!known[at(y)]) by_copies[at(y)] = stage_sums(layers, own, degree, y);
          known[at(y)] = true;
          const double time = replicated(by_copies[at(y)], d);
          if (time == kNever) break;  // more copies need more memory
          if (time < limit_) extend(begin, end, s, time, {static_cast<std::int32_t>(begin), degree, d});
        }
      }
    }
  }

  /// Puts a stage in front of everything that `begin` holds with fewer replicas.
  void extend(std::size_t begin, std::size_t end, std::int32_t s, double time, const Step& step) {
    const std::size_t width = at(most_copies_ + 1);
    const std::int32_t own = step.degree * step.replicas;
    const double* rest = &value_[begin * row() + at(s - step.replicas)];
    double* best = &value_[end * row() + at(s)];
    Step* from = &from_[end * row() + at(s)];
    for (std::int32_t k = own; k <= devices_; ++k) {
      const double slowest = std::max(rest[at(k - own) * width], time);
      if (slowest >= best[at(k) * width] || slowest >= limit_) continue;
      best[at(k) * width] = slowest;
      from[at(k) * width] = step;
    }
  }

  const VariantGraph& graph_;
  StopSign stop_;
  double memory_;
  double bytes_per_s_ = 0;
  std::int32_t devices_ = 0;
  std::int64_t microbatches_ = 0;
  std::int32_t most_copies_ = 0;  ///< of all stages together
  std::vector<std::int32_t> replicas_;
  std::vector<std::int32_t> degrees_;
  std::vector<NodeSet> sets_;  ///< closed under successors: what stands after a cut
  double limit_ = kNever;
  std::size_t best_ = 0;
  std::vector<double> value_;
  std::vector<Step> from_;
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

}  // namespace

/// Piper (Tarnawski et al., NeurIPS 2021): the least time per microbatch of the slowest stage, over cuts, tensor
/// degree, data-parallel degree and recompute of every stage, within the memory of a device. States are the sets of
/// layers after a cut, the devices they use, and the sum of their data-parallel degrees, on which memory depends. A
/// chain is solved first; what cannot get below it is passed over.
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
  // The chain's plan is among the full search's, so it is found again within the smallest step above.
  const double best = full.solve(first == kNever ? kNever : first * (1 + 1e-12));
  if (best == kNever) throw Error("piper: the network does not fit into the memory of the devices");
  plan.claimed_ns = plan.lower_bound_ns = 1e9 * best;
  plan.microbatches = problem.microbatches;
  full.append_stages(problem, plan);
  return plan;
}

}  // namespace plumb
