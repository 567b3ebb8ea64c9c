#include <algorithm>
#include <array>
#include <limits>
#include <list>
#include <map>
#include <numeric>
#include <optional>
#include <string>

#include "models/graphs/ideals.hpp"
#include "models/ground/error.hpp"
#include "sim/planners/numbers.hpp"
#include "sim/planners/placement_blocks.hpp"
#include "sim/planners/planner.hpp"

namespace plumb {
namespace {

constexpr std::array kPartitioningOptions{
    NamedOption{"linear", switch_form(), 0, "whether only cuts of a chain are looked at"}};

constexpr std::int64_t kNoTime = std::numeric_limits<std::int64_t>::max() / 4;
constexpr std::size_t kMostBlockIdeals = 400'000;

/// Devices and sets of blocks that may lie in front of a cut, with everything that a pair of them is judged by.
class PlacementSearch {
 public:
  PlacementSearch(const PlacementBlocks& blocks, const PlacementGraph& graph, std::vector<NodeSet> ideals,
                  StopSign stop)
      : blocks_(blocks),
        stop_(std::move(stop)),
        accelerators_(graph.accelerators),
        cpus_(graph.cpus),
        memory_(graph.accelerator_bytes),
        ideals_(std::move(ideals)) {
    const auto sums = [&](auto figure) {
      std::vector<std::int64_t> sum;
      for (const NodeSet& ideal : ideals_) {
        sum.push_back(0);
        ideal.for_each([&](std::size_t b) { sum.back() += figure(blocks_.blocks[b]); });
      }
      return sum;
    };
    load_ = sums([](const PlacementBlock& block) { return block.accelerator_ns; });
    cpu_ = sums([](const PlacementBlock& block) { return block.cpu_ns; });
    bytes_ = sums([](const PlacementBlock& block) { return block.bytes; });
    barred_ = sums([](const PlacementBlock& block) { return block.on_accelerator ? 0 : 1; });
    by_load_ = sorted_by(load_);
    by_cpu_ = sorted_by(cpu_);
    find_split_outputs();
    find_cpu_ratio();
  }

  /// The best plan that costs less than `limit`, as a largest load; `limit` when there is none. The cuts are then in
  /// `cuts()`.
  std::int64_t solve(std::int64_t limit) {
    limit_ = limit;
    const auto layers = static_cast<std::size_t>((accelerators_ + 1) * (cpus_ + 1));
    value_.assign(layers, std::vector<std::int64_t>(ideals_.size(), kNoTime));
    from_.assign(layers, std::vector<Step>(ideals_.size()));
    value_[0][0] = 0;
    for (std::int32_t used = 0; used <= accelerators_ + cpus_; ++used) {
      for (std::int32_t l = std::max(0, used - accelerators_); l <= std::min(used, cpus_); ++l) {
        spread(used - l, l);
      }
    }
    best_layer_ = 0;
    for (std::size_t layer = 0; layer < layers; ++layer) {
      if (value_[layer].back() < value_[best_layer_].back()) best_layer_ = layer;
    }
    return std::min(limit, value_[best_layer_].back());
  }

  struct Device {
    std::size_t begin = 0;  ///< ideals
    std::size_t end = 0;
    bool cpu = false;
    std::int64_t load = 0;
  };

  /// Of the last `solve` that found something, first device first.
  std::vector<Device> devices() const {
    std::vector<Device> found;
    std::size_t layer = best_layer_;
    for (std::size_t end = ideals_.size() - 1; end != 0;) {
      const Step step = from_[layer][end];
      const auto begin = static_cast<std::size_t>(step.from);
      const std::int64_t load = step.cpu ? cpu_[end] - cpu_[begin] : accelerator_ns(begin, end);
      found.push_back({begin, end, step.cpu, load});
      layer -= step.cpu ? 1 : static_cast<std::size_t>(cpus_ + 1);
      end = begin;
    }
    std::reverse(found.begin(), found.end());
    return found;
  }

  const NodeSet& ideal(std::size_t k) const { return ideals_[k]; }
  std::size_t size() const { return ideals_.size(); }

  /// Compute of the blocks between, and every output that they do not hold completely.
  std::int64_t accelerator_ns(std::size_t begin, std::size_t end) const {
    std::int64_t sum = load_[end] - load_[begin];
    const std::vector<std::int32_t>& first = split_[end];
    const std::vector<std::int32_t>& second = split_[begin];
    for (std::size_t a = 0, b = 0; a < first.size() || b < second.size();) {
      std::int32_t output = 0;
      if (b == second.size() || (a < first.size() && first[a] <= second[b])) {
        if (b < second.size() && first[a] == second[b]) ++b;
        output = first[a++];
      } else {
        output = second[b++];
      }
      const PlacementOutput& one = blocks_.outputs[static_cast<std::size_t>(output)];
      if (touches(one.blocks, begin, end)) sum += one.transfer_ns;
    }
    return sum;
  }

 private:
  struct Step {
    std::int32_t from = -1;
    bool cpu = false;
  };

  std::size_t layer_of(std::int32_t k, std::int32_t l) const { return static_cast<std::size_t>(k * (cpus_ + 1) + l); }

  static std::vector<std::int32_t> sorted_by(const std::vector<std::int64_t>& key) {
    std::vector<std::int32_t> order(key.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
      return key[static_cast<std::size_t>(a)] < key[static_cast<std::size_t>(b)];
    });
    return order;
  }

  /// Whether some of `set` lies in `end` and not in `begin`.
  bool touches(const NodeSet& set, std::size_t begin, std::size_t end) const {
    const auto words = set.words();
    const auto inside = ideals_[end].words();
    const auto outside = ideals_[begin].words();
    for (std::size_t w = 0; w < words.size(); ++w) {
      if ((words[w] & inside[w] & ~outside[w]) != 0) return true;
    }
    return false;
  }

  void find_split_outputs() {
    split_.resize(ideals_.size());
    for (std::size_t k = 0; k < ideals_.size(); ++k) {
      for (std::size_t o = 0; o < blocks_.outputs.size(); ++o) {
        const NodeSet& set = blocks_.outputs[o].blocks;
        if (set.meets(ideals_[k]) && !set.is_subset_of(ideals_[k])) split_[k].push_back(static_cast<std::int32_t>(o));
      }
    }
  }

  /// How much accelerator time one unit of CPU time can take over, at most.
  void find_cpu_ratio() {
    for (const PlacementBlock& block : blocks_.blocks) {
      if (block.accelerator_ns == 0) continue;
      const auto ratio =
          static_cast<double>(block.accelerator_ns) / static_cast<double>(std::max<std::int64_t>(1, block.cpu_ns));
      cpu_ratio_ = std::max(cpu_ratio_, ratio);
    }
  }

  /// What must lie in front at least, when k accelerators and l CPUs are used, so that the rest still fits.
  double least_load(std::int32_t k, std::int32_t l) const {
    const auto limit = static_cast<double>(limit_);
    return static_cast<double>(load_.back()) - (accelerators_ - k) * limit - (cpus_ - l) * limit * cpu_ratio_ - 1;
  }

  /// Adds one device after every set that k accelerators and l CPUs can hold.
  void spread(std::int32_t k, std::int32_t l) {
    const std::vector<std::int64_t>& here = value_[layer_of(k, l)];
    for (std::size_t begin = 0; begin < ideals_.size(); ++begin) {
      stop_.check();
      if (here[begin] >= limit_) continue;
      if (k < accelerators_) add_device(begin, here[begin], layer_of(k + 1, l), least_load(k + 1, l), false);
      if (l < cpus_) add_device(begin, here[begin], layer_of(k, l + 1), least_load(k, l + 1), true);
    }
  }

  void add_device(std::size_t begin, std::int64_t so_far, std::size_t layer, double least, bool cpu) {
    const std::vector<std::int64_t>& key = cpu ? cpu_ : load_;
    const std::vector<std::int32_t>& order = cpu ? by_cpu_ : by_load_;
    const auto first = std::lower_bound(order.begin(), order.end(), key[begin], [&](std::int32_t a, std::int64_t b) {
      return key[static_cast<std::size_t>(a)] < b;
    });
    std::vector<std::int64_t>& values = value_[layer];
    for (auto next = first; next != order.end(); ++next) {
      const auto end = static_cast<std::size_t>(*next);
      const std::int64_t least_cost = key[end] - key[begin];
      if (least_cost >= limit_) return;
      const std::int64_t bound = std::min(limit_, values[end]);
      if (static_cast<double>(load_[end]) < least || std::max(so_far, least_cost) >= bound) continue;
      if (!cpu && (barred_[end] != barred_[begin] || (memory_ > 0 && bytes_[end] - bytes_[begin] > memory_))) continue;
      if (end == begin || !ideals_[begin].is_subset_of(ideals_[end])) continue;
      const std::int64_t cost = std::max(so_far, cpu ? least_cost : accelerator_ns(begin, end));
      if (cost >= bound) continue;
      values[end] = cost;
      from_[layer][end] = {static_cast<std::int32_t>(begin), cpu};
      if (end + 1 == ideals_.size()) limit_ = std::min(limit_, cost);
    }
  }

  const PlacementBlocks& blocks_;
  StopSign stop_;
  std::int32_t accelerators_;
  std::int32_t cpus_;
  std::int64_t memory_;
  std::vector<NodeSet> ideals_;
  std::vector<std::int64_t> load_, cpu_, bytes_, barred_;  ///< by ideal: sums
  std::vector<std::int32_t> by_load_, by_cpu_;
  std::vector<std::vector<std::int32_t>> split_;  ///< by ideal: outputs with blocks on both sides
  double cpu_ratio_ = 0;
  std::int64_t limit_ = kNoTime;
  std::size_t best_layer_ = 0;
  std::vector<std::vector<std::int64_t>> value_;  ///< by devices used and ideal: the largest load
  std::vector<std::vector<Step>> from_;
};

using BlockOrder = std::vector<std::size_t>;

/// Blocks in the order in which a depth-first search from the end finishes them.
BlockOrder finishing_order(const PlacementBlocks& blocks) {
  const std::size_t n = blocks.blocks.size();
  BlockOrder order;
  std::vector<bool> done(n, false);
  const auto visit = [&](auto&& self, std::size_t b) -> void {
    if (done[b]) return;
    done[b] = true;
    for (const std::int32_t before : blocks.before[b]) self(self, at(before));
    order.push_back(b);
  };
  for (std::size_t b = 0; b < n; ++b) visit(visit, b);
  return order;
}

/// Blocks in the order of the released program: of those whose predecessors are placed, the one that became ready last;
/// of several that a block makes ready, the one with the largest colour first, or the smallest.
BlockOrder ready_order(const PlacementBlocks& blocks, const PlacementGraph& graph, bool largest_first) {
  const std::size_t n = blocks.blocks.size();
  const auto colour = [&](std::size_t b) { return graph.nodes[at(blocks.blocks[b].nodes.front())].colour; };
  std::vector<std::size_t> missing(n);
  std::vector<BlockOrder> after(n);
  BlockOrder ready;
  for (std::size_t b = 0; b < n; ++b) {
    missing[b] = blocks.before[b].size();
    if (missing[b] == 0) ready.push_back(b);
    for (const std::int32_t before : blocks.before[b]) after[at(before)].push_back(b);
  }
  const auto earlier = [&](std::size_t a, std::size_t b) {
    return largest_first ? colour(a) < colour(b) : colour(b) < colour(a);
  };
  std::sort(ready.begin(), ready.end(), earlier);
  BlockOrder order;
  while (!ready.empty()) {
    const std::size_t b = ready.back();
    ready.pop_back();
    order.push_back(b);
    std::sort(after[b].begin(), after[b].end(), earlier);
    for (const std::size_t next : after[b]) {
      if (--missing[next] == 0) ready.push_back(next);
    }
  }
  return order;
}

/// Sets in front of the cuts of a chain.
std::vector<NodeSet> chain_ideals(const BlockOrder& order) {
  std::vector<NodeSet> sets{NodeSet(order.size())};
  for (const std::size_t b : order) {
    sets.push_back(sets.back());
    sets.back().add(b);
  }
  return sets;
}

/// Nodes of the layer graph that the blocks between two ideals stand for.
std::vector<std::int32_t> layers_between(const PlanProblem& problem, const PlacementBlocks& blocks, NodeSet set,
                                         const NodeSet& without) {
  const PlacementGraph& graph = *problem.network.placement;
  std::map<std::string, std::int32_t> layer;
  for (std::size_t k = 0; k < problem.network.layers.size(); ++k) {
    layer[problem.network.layers.nodes[k].id] = static_cast<std::int32_t>(k);
  }
  set -= without;
  std::vector<std::int32_t> layers;
  set.for_each([&](std::size_t b) {
    for (const std::int32_t node : blocks.blocks[b].nodes) {
      const auto found = layer.find(std::to_string(graph.nodes[static_cast<std::size_t>(node)].id));
      if (found != layer.end()) layers.push_back(found->second);
    }
  });
  std::sort(layers.begin(), layers.end());
  return layers;
}

/// A layer graph as the method's input: the gradient of an output is as large as it, and takes as long.
PlacementGraph placement_of(const PlanProblem& problem) {
  const LayerGraph& layers = problem.network.layers;
  PlacementGraph graph;
  graph.name = layers.name;
  graph.accelerators = problem.num_devices();
  for (std::size_t k = 0; k < layers.size(); ++k) {
    const LayerNode& node = layers.nodes[k];
    PlacementNode made;
    made.id = static_cast<std::int64_t>(k);
    made.name = node.id;
    made.accelerator_ns = node.loads_data ? 0 : node.total_ns();
    made.bytes = node.parameter_bytes + node.stash_bytes;
    made.transfer_ns = node.loads_data || problem.num_devices() == 1
                           ? 0
                           : static_cast<std::int64_t>(2e9 * static_cast<double>(node.output_bytes) /
                                                       problem.bytes_per_s_between(problem.num_devices()));
    made.colour = made.id;
    graph.nodes.push_back(std::move(made));
  }
  for (const LayerEdge& edge : layers.edges) {
    graph.edges.emplace_back(edge.from, edge.to);
    graph.edge_bytes.push_back(edge.bytes);
  }
  return graph;
}

/// dnn-partitioning's dynamic program (Tarnawski et al., NeurIPS 2020): the smallest largest load over all contiguous
/// placements on accelerators and CPUs. An accelerator's load is its compute and, for every output that crosses its
/// border, once, that output's transfer; a CPU's load is compute. Sets of blocks in front of a cut are the states;
/// those that cannot lead below the best plan of a chain are passed over. Option `linear`: only chains, of which it
/// tries three: a depth-first order, that of the released program, and this one with branches the other way round.
Plan plan_dnn_partitioning(const PlanProblem& problem) {
  PlanProblem own = problem;
  if (own.network.placement) {
    own.network.placement->accelerators = own.num_devices();
  } else {
    own.network.placement = placement_of(problem);
    for (std::size_t k = 0; k < own.network.layers.size(); ++k) own.network.layers.nodes[k].id = std::to_string(k);
  }
  PlacementGraph& graph = *own.network.placement;
  graph.accelerator_bytes = own.memory_bytes;
  const PlacementBlocks blocks = placement_blocks(graph);
  std::int64_t best = kNoTime;
  std::list<PlacementSearch> chains;
  const PlacementSearch* search = nullptr;
  for (const BlockOrder& order :
       {finishing_order(blocks), ready_order(blocks, graph, true), ready_order(blocks, graph, false)}) {
    chains.emplace_back(blocks, graph, chain_ideals(order), problem.stop);
    const std::int64_t found = chains.back().solve(best);
    if (search == nullptr || found < best) search = &chains.back();
    best = std::min(best, found);
  }
  std::optional<PlacementSearch> full;
  Plan plan;
  plan.states = static_cast<std::int64_t>(search->size());
  if (!OptionReader(kPartitioningOptions, problem.options).is_on("linear")) {
    full.emplace(blocks, graph, ideals(blocks.before, kMostBlockIdeals), problem.stop);
    plan.states = static_cast<std::int64_t>(full->size());
    if (const std::int64_t better = full->solve(best); better < best) {
      best = better;
      search = &*full;
    }
  }
  if (best >= kNoTime) throw Error("dnn-partitioning: the network does not fit into the memory of the devices");
  plan.claimed_ns = static_cast<double>(best);
  if (full) plan.lower_bound_ns = plan.claimed_ns;
  for (const PlacementSearch::Device& device : search->devices()) {
    PlanStage stage;
    stage.on_cpu = device.cpu;
    stage.load_ns = static_cast<double>(device.load);
    stage.layers = layers_between(own, blocks, search->ideal(device.end), search->ideal(device.begin));
    plan.stages.push_back(std::move(stage));
  }
  return plan;
}

}  // namespace

Planner dnn_partitioning_planner() {
  return {.name = "dnn-partitioning",
          .paper = "Tarnawski et al., NeurIPS 2020",
          .year = 2020,
          .minimises = "largest load, transfers included",
          .options = kPartitioningOptions,
          .asked_up_to = {.layers = 500, .devices = 64},
          .plan = plan_dnn_partitioning};
}

}  // namespace plumb
