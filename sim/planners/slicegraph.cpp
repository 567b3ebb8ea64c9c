#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <queue>
#include <random>

#include "models/ground/error.hpp"
#include "sim/planners/numbers.hpp"
#include "sim/planners/planner.hpp"

namespace plumb {
namespace {

constexpr std::array kSlicegraphOptions{
    NamedOption{"generations", count_form("N", 0, 100'000), 20, "generations of the search over orders of the layers"},
    NamedOption{"seed", count_form("N", 0, 4'294'967'295.0), 1, "seed of that search"}};

constexpr std::size_t kPopulation = 16;
constexpr std::size_t kElite = 5;
constexpr double kInheritance = 0.7;  // of a key from the elite parent

/// Work of a layer and the cost of bringing its output over a border, in nanoseconds.
struct SliceCosts {
  std::vector<double> work;
  std::vector<double> border;
};

/// The best segmentation of one topological order.
struct Segmentation {
  double cost = kNever;
  std::vector<std::int32_t> order;
  std::vector<std::size_t> bounds;
};

class SlicegraphSearch {
 public:
  SlicegraphSearch(const LayerGraph& graph, SliceCosts costs, std::size_t blocks, StopSign stop)
      : costs_(std::move(costs)),
        stop_(std::move(stop)),
        around_(neighbours(graph)),
        n_(graph.size()),
        blocks_(std::min(blocks, graph.size())) {}

  /// cost[j][i]: layers i to j - 1 of the order as one block: work, every output that it reads, and every one of its
  /// own that is read after it, each once.
  Segmentation cut(std::vector<std::int32_t> order) const {
    std::vector<std::size_t> place(n_);
    for (std::size_t k = 0; k < n_; ++k) place[at(order[k])] = k;
    std::vector<std::size_t> last(n_, 0);
    for (std::size_t k = 0; k < n_; ++k) {
      for (const std::int32_t reader : around_.after[at(order[k])]) last[k] = std::max(last[k], place[at(reader)]);
    }
    std::vector<double> best(n_ + 1, kNever);
    best[0] = 0;
    const std::vector<double> block = block_costs(order, place, last);
    std::vector<std::vector<std::uint32_t>> from;
    Segmentation result;
    for (std::size_t b = 0; b < blocks_; ++b) {
      std::vector<double> next(n_ + 1, kNever);
      from.emplace_back(n_ + 1, 0);
      for (std::size_t j = b + 1; j <= n_; ++j) {
        stop_.check();
        for (std::size_t i = b; i < j; ++i) {
          const double cost = std::max(best[i], block[j * n_ + i]);
          if (cost >= next[j]) continue;
          next[j] = cost;
          from[b][j] = static_cast<std::uint32_t>(i);
        }
      }
      best = std::move(next);
      if (best[n_] >= result.cost) continue;
      result.cost = best[n_];
      result.bounds.assign(b + 2, n_);
      for (std::size_t s = b + 1; s-- > 0;) result.bounds[s] = from[s][result.bounds[s + 1]];
    }
    result.order = std::move(order);
    return result;
  }

  /// The topological order that prefers small keys.
  std::vector<std::int32_t> order_of(const std::vector<double>& keys) const {
    std::vector<std::size_t> missing(n_);
    using ReadyState = std::pair<double, std::int32_t>;
    std::priority_queue<ReadyState, std::vector<ReadyState>, std::greater<>> ready;
    for (std::size_t k = 0; k < n_; ++k) {
      missing[k] = around_.before[k].size();
      if (missing[k] == 0) ready.emplace(keys[k], static_cast<std::int32_t>(k));
    }
    std::vector<std::int32_t> order;
    while (!ready.empty()) {
      order.push_back(ready.top().second);
      ready.pop();
      for (const std::int32_t next : around_.after[at(order.back())]) {
        if (--missing[at(next)] == 0) ready.emplace(keys[at(next)], next);
      }
    }
    return order;
  }

  double block_cost(const Segmentation& found, std::size_t b) const {
    std::vector<std::size_t> place(n_);
    for (std::size_t k = 0; k < n_; ++k) place[at(found.order[k])] = k;
    double cost = 0;
    for (std::size_t k = 0; k < n_; ++k) {
      const auto inside = [&](std::size_t p) { return p >= found.bounds[b] && p < found.bounds[b + 1]; };
      const auto node = at(found.order[k]);
      bool in = false, out = false;
      for (const std::int32_t reader : around_.after[node]) (inside(place[at(reader)]) ? in : out) = true;
      if (inside(k)) cost += costs_.work[node] + (out ? costs_.border[node] : 0);
      if (!inside(k) && in) cost += costs_.border[node];
    }
    return cost;
  }

 private:
  std::vector<double> block_costs(const std::vector<std::int32_t>& order, const std::vector<std::size_t>& place,
                                  const std::vector<std::size_t>& last) const {
    std::vector<double> block((n_ + 1) * n_, 0);
    for (std::size_t i = 0; i < n_; ++i) {
      stop_.check();
      double inside = 0;   // work and outputs read from in front
      double leaving = 0;  // outputs of the block with readers after it
      std::vector<std::vector<std::size_t>> done(n_ + 1);
      std::vector<bool> seen(i, false);
      for (std::size_t j = i; j < n_; ++j) {
        const auto node = at(order[j]);
        inside += costs_.work[node];
        for (const std::int32_t before : around_.before[node]) {
          const std::size_t p = place[at(before)];
          if (p >= i || seen[p]) continue;
          seen[p] = true;
          inside += costs_.border[at(before)];
        }
        if (last[j] > j) {
          leaving += costs_.border[node];
          done[last[j]].push_back(node);
        }
        for (const std::size_t past : done[j]) leaving -= costs_.border[past];
        block[(j + 1) * n_ + i] = inside + leaving;
      }
    }
    return block;
  }

  SliceCosts costs_;
  StopSign stop_;
  Neighbours around_;
  std::size_t n_;
  std::size_t blocks_;
};

/// A biased random-key genetic search over topological orders; the first individual keeps the order of the graph.
Segmentation search_orders(const SlicegraphSearch& search, std::size_t n, std::size_t generations, std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto draw = [&] { return static_cast<double>(random()) / 4294967296.0; };
  std::vector<std::pair<double, std::vector<double>>> people;
  Segmentation best;
  const auto judge = [&](std::vector<double> keys) {
    Segmentation found = search.cut(search.order_of(keys));
    people.emplace_back(found.cost, std::move(keys));
    if (found.cost < best.cost) best = std::move(found);
  };
  std::vector<double> as_it_is(n);
  std::iota(as_it_is.begin(), as_it_is.end(), 0.0);
  for (double& key : as_it_is) key /= static_cast<double>(n);
  judge(std::move(as_it_is));
  const auto random_keys = [&] {
    std::vector<double> keys(n);
    for (double& key : keys) key = draw();
    return keys;
  };
  while (generations > 0 && people.size() < kPopulation) judge(random_keys());
  for (std::size_t g = 0; g < generations; ++g) {
    std::stable_sort(people.begin(), people.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    const auto old = people;
    people.resize(kElite);
    judge(random_keys());
    while (people.size() < kPopulation) {
      std::vector<double> child = old[kElite + random() % (old.size() - kElite)].second;
      const std::vector<double>& elite = old[random() % kElite].second;
      for (std::size_t k = 0; k < n; ++k) {
        if (draw() < kInheritance) child[k] = elite[k];
      }
      judge(std::move(child));
    }
  }
  return best;
}

/// SliceGraph of "Practical performance guarantees for pipelined DNN inference" (MTPP, ICML 2024): a topological order
/// is cut into blocks by dynamic programming so that the largest block, work + bytes in + bytes out (each output once),
/// is least; orders are searched by a random-key genetic algorithm of `generations` (20) from a fixed `seed`. The bound
/// is the larger of an even share of the work and the largest layer.
Plan plan_slicegraph(const PlanProblem& problem) {
  std::vector<bool> loads(problem.network.layers.size());
  std::vector<std::int32_t> node;
  for (std::size_t k = 0; k < loads.size(); ++k) {
    loads[k] = problem.network.layers.nodes[k].loads_data;
    if (!loads[k]) node.push_back(static_cast<std::int32_t>(k));
  }
  const LayerGraph graph = without(problem.network.layers, loads);
  if (graph.nodes.empty()) throw Error("network '" + graph.name + "': has no layers, expected at least one");
  SliceCosts costs;
  Plan plan;
  const double rate = problem.num_devices() == 1 ? kNever : problem.bytes_per_s_between(problem.num_devices());
  double total = 0;
  for (const LayerNode& layer : graph.nodes) {
    costs.work.push_back(static_cast<double>(layer.total_ns()));
    costs.border.push_back(1e9 * static_cast<double>(layer.output_bytes) / rate);
    total += costs.work.back();
    plan.lower_bound_ns = std::max(plan.lower_bound_ns, costs.work.back());
  }
  plan.lower_bound_ns = std::max(plan.lower_bound_ns, total / problem.num_devices());
  const SlicegraphSearch search(graph, std::move(costs), static_cast<std::size_t>(problem.num_devices()), problem.stop);
  const OptionReader options(kSlicegraphOptions, problem.options);
  const Segmentation best = search_orders(search, graph.size(), static_cast<std::size_t>(options.count("generations")),
                                          static_cast<std::uint32_t>(options.count("seed")));
  plan.claimed_ns = best.cost;
  plan.states = static_cast<std::int64_t>(graph.size());
  for (std::size_t b = 0; b + 1 < best.bounds.size(); ++b) {
    PlanStage stage;
    for (std::size_t k = best.bounds[b]; k < best.bounds[b + 1]; ++k) stage.layers.push_back(node[at(best.order[k])]);
    std::sort(stage.layers.begin(), stage.layers.end());
    stage.load_ns = search.block_cost(best, b);
    plan.stages.push_back(std::move(stage));
  }
  return plan;
}

}  // namespace

Planner slicegraph_planner() {
  return {.name = "slicegraph",
          .paper = "Archer et al., ICML 2024 (MTPP)",
          .year = 2024,
          .minimises = "largest block: work + bytes in + bytes out",
          .options = kSlicegraphOptions,
          .uncertain = "only the simple one of its lower bounds",
          .asked_up_to = {.layers = 200, .devices = 64},
          .plan = plan_slicegraph};
}

}  // namespace plumb
