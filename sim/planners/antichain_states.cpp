#include "sim/planners/antichain_states.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <unordered_map>

#include "models/graphs/ideals.hpp"
#include "models/ground/error.hpp"
#include "sim/planners/numbers.hpp"

namespace plumb {
namespace {

using Antichain = std::vector<std::int32_t>;  // ascending

/// What the program drops before it plans.
std::vector<bool> left_out(const LayerGraph& graph) {
  const Neighbours around = neighbours(graph);
  std::vector<bool> dropped(graph.size(), false);
  for (std::size_t k = 0; k < graph.size(); ++k) {
    dropped[k] = (around.before[k].empty() && graph.nodes[k].name.starts_with("Input")) ||
                 (around.after[k].empty() && graph.nodes[k].name.starts_with("__getitem__"));
  }
  return dropped;
}

/// The graph that antichains walk over: neighbours and closures of the layers that are left.
class Walk {
 public:
  explicit Walk(const LayerGraph& graph) : graph_(graph), dropped_(left_out(graph)) {
    const std::size_t n = graph.size();
    behind_.resize(n);
    above_.assign(n, NodeSet(n));
    below_.assign(n, NodeSet(n));
    std::vector<bool> read(n, false);
    for (const LayerEdge& edge : graph.edges) {
      if (dropped_[at(edge.from)] || dropped_[at(edge.to)]) continue;
      behind_[at(edge.from)].push_back(edge.to);
      read[at(edge.to)] = true;
      above_[at(edge.to)] |= above_[at(edge.from)];
      above_[at(edge.to)].add(at(edge.from));
    }
    for (std::size_t k = n; k-- > 0;) {
      for (const std::int32_t next : behind_[k]) {
        below_[k] |= below_[at(next)];
        below_[k].add(at(next));
      }
      if (!dropped_[k] && !read[k]) source_ = static_cast<std::int32_t>(k);
    }
    if (source_ < 0) throw Error("network '" + graph.name + "': has no layers, expected at least one");
  }

  Antichain first() const { return {source_}; }

  /// `antichain` and the layers before it that also feed others than those before the same member and itself.
  Antichain augmented(const Antichain& antichain) const {
    Antichain all = antichain;
    for (const std::int32_t member : antichain) {
      above_[at(member)].for_each([&](std::size_t before) {
        const auto feeds_others = [&](std::int32_t reader) {
          return reader != member && !above_[at(member)].has(at(reader));
        };
        if (std::any_of(behind_[before].begin(), behind_[before].end(), feeds_others)) {
          all.push_back(static_cast<std::int32_t>(before));
        }
      });
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  /// Antichains one step on.
  std::vector<Antichain> next(const Antichain& antichain) const {
    std::vector<Antichain> result;
    const Antichain all = augmented(antichain);
    for (const std::int32_t member : all) {
      for (const std::int32_t reader : behind_[at(member)]) {
        if (std::binary_search(antichain.begin(), antichain.end(), reader)) continue;
        const auto is_behind = [&](std::int32_t other) { return below_[at(reader)].has(at(other)); };
        if (std::any_of(all.begin(), all.end(), is_behind)) continue;
        result.push_back(replaced(all, member, reader));
      }
    }
    return result;
  }

  NodeSet closure(const Antichain& antichain) const {
    NodeSet layers(graph_.size());
    for (const std::int32_t member : antichain) {
      layers |= above_[at(member)];
      layers.add(at(member));
    }
    return layers;
  }

 private:
  Antichain replaced(const Antichain& all, std::int32_t member, std::int32_t reader) const {
    Antichain made;
    for (const std::int32_t other : all) made.push_back(other == member ? reader : other);
    std::sort(made.begin(), made.end());
    made.erase(std::unique(made.begin(), made.end()), made.end());
    Antichain kept;
    for (const std::int32_t one : made) {
      const auto is_behind = [&](std::int32_t other) { return below_[at(one)].has(at(other)); };
      if (std::none_of(made.begin(), made.end(), is_behind)) kept.push_back(one);
    }
    return kept;
  }

  const LayerGraph& graph_;
  std::vector<bool> dropped_;
  std::vector<std::vector<std::int32_t>> behind_;
  std::vector<NodeSet> above_;
  std::vector<NodeSet> below_;
  std::int32_t source_ = -1;
};

struct Reached {
  std::vector<Antichain> antichains;
  std::vector<std::vector<std::int32_t>> next;
};

Reached reach(const Walk& walk, std::size_t most) {
  Reached reached{{walk.first()}, {}};
  std::map<Antichain, std::int32_t> known{{walk.first(), 0}};
  for (std::size_t k = 0; k < reached.antichains.size(); ++k) {
    reached.next.emplace_back();
    for (Antichain& antichain : walk.next(reached.antichains[k])) {
      const auto [entry, is_new] = known.emplace(antichain, static_cast<std::int32_t>(reached.antichains.size()));
      if (is_new) reached.antichains.push_back(std::move(antichain));
      reached.next.back().push_back(entry->second);
    }
    if (reached.antichains.size() > most) {
      throw Error("the graph branches too much: it has more than " + std::to_string(most) +
                  " states, expected fewer (another method works on a chain)");
    }
  }
  return reached;
}

}  // namespace

AntichainStates antichain_states(const LayerGraph& graph, std::size_t most) {
  const Walk walk(graph);
  const Reached reached = reach(walk, most);
  const std::size_t n = reached.antichains.size();
  std::vector<NodeSet> layers;
  std::vector<std::size_t> size;
  for (const Antichain& antichain : reached.antichains) {
    layers.push_back(walk.closure(antichain));
    size.push_back(layers.back().count());
  }
  std::vector<std::int32_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  // A step only ever adds layers, so fewer layers come first.
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return size[at(a)] < size[at(b)]; });
  std::vector<std::int32_t> place(n);
  AntichainStates states;
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t old = at(order[k]);
    place[old] = static_cast<std::int32_t>(k);
    double compute = 0, activations = 0, parameters = 0, output = 0;
    layers[old].for_each([&](std::size_t node) {
      compute += static_cast<double>(graph.nodes[node].total_ns());
      activations += static_cast<double>(graph.nodes[node].output_bytes);
      parameters += static_cast<double>(graph.nodes[node].parameter_bytes);
    });
    for (const std::int32_t node : walk.augmented(reached.antichains[old])) {
      output += static_cast<double>(graph.nodes[at(node)].output_bytes);
    }
    states.layers.push_back(std::move(layers[old]));
    states.compute_ns.push_back(compute);
    states.activation_bytes.push_back(activations);
    states.parameter_bytes.push_back(parameters);
    states.output_bytes.push_back(output);
  }
  states.steps.resize(n);
  for (std::size_t k = 0; k < n; ++k) {
    for (const std::int32_t next : reached.next[at(order[k])]) {
      states.steps[at(place[at(next)])].push_back(static_cast<std::int32_t>(k));
    }
  }
  return states;
}

std::vector<NodeSet> states_before(const AntichainStates& states) {
  std::vector<NodeSet> before(states.size(), NodeSet(states.size()));
  for (std::size_t k = 0; k < states.size(); ++k) {
    for (const std::int32_t step : states.steps[k]) {
      before[k] |= before[at(step)];
      before[k].add(at(step));
    }
  }
  return before;
}

AntichainStates ideal_states(const LayerGraph& graph, std::size_t most) {
  std::vector<bool> loads(graph.size());
  std::vector<std::int32_t> node;
  for (std::size_t k = 0; k < graph.size(); ++k) {
    loads[k] = graph.nodes[k].loads_data;
    if (!loads[k]) node.push_back(static_cast<std::int32_t>(k));
  }
  const LayerGraph rest = without(graph, loads);
  const Neighbours around = neighbours(rest);
  std::vector<NodeSet> sets = ideals(around.before, most);
  std::unordered_map<NodeSet, std::int32_t, NodeSetHash> place;
  for (std::size_t k = 1; k < sets.size(); ++k) place.emplace(sets[k], static_cast<std::int32_t>(k) - 1);
  AntichainStates states;
  for (std::size_t k = 1; k < sets.size(); ++k) {
    NodeSet layers(graph.size());
    double compute = 0, activations = 0, parameters = 0, output = 0;
    states.steps.emplace_back();
    NodeSet smaller = sets[k];
    sets[k].for_each([&](std::size_t own) {
      const LayerNode& layer = rest.nodes[own];
      layers.add(at(node[own]));
      compute += static_cast<double>(layer.total_ns());
      activations += static_cast<double>(layer.output_bytes);
      parameters += static_cast<double>(layer.parameter_bytes);
      const auto inside = [&](std::int32_t reader) { return sets[k].has(at(reader)); };
      const auto& readers = around.after[own];
      if (!std::all_of(readers.begin(), readers.end(), inside)) output += static_cast<double>(layer.output_bytes);
      if (k == 1 || std::any_of(readers.begin(), readers.end(), inside)) return;
      smaller.remove(own);
      if (const auto found = place.find(smaller); found != place.end()) states.steps.back().push_back(found->second);
      smaller.add(own);
    });
    states.layers.push_back(std::move(layers));
    states.compute_ns.push_back(compute);
    states.activation_bytes.push_back(activations);
    states.parameter_bytes.push_back(parameters);
    states.output_bytes.push_back(output);
  }
  return states;
}

}  // namespace plumb
