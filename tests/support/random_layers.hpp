#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "sim/planners/planner.hpp"

namespace plumb::testing {

/// A chain of `size` layers with random times and sizes; `extra` random edges lead over others.
inline LayerGraph random_layers(std::uint32_t seed, std::size_t size, std::size_t extra = 0) {
  std::mt19937 random(seed);
  const auto draw = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(most + 1));
  };
  LayerGraph graph;
  graph.name = "random";
  for (std::size_t k = 0; k < size; ++k) {
    LayerNode node;
    node.id = node.name = "n" + std::to_string(k);
    node.forward_ns = 1'000'000 + 1000 * draw(9000);
    node.backward_ns = 1'000'000 + 1000 * draw(19000);
    node.output_bytes = 1000 * draw(9000);
    node.parameter_bytes = 1000 * draw(40000);
    node.stash_bytes = node.output_bytes;
    graph.nodes.push_back(node);
  }
  const auto connect = [&](std::size_t from, std::size_t to) {
    graph.edges.push_back(
        {static_cast<std::int32_t>(from), static_cast<std::int32_t>(to), graph.nodes[from].output_bytes});
  };
  if (extra == 0) {
    for (std::size_t k = 1; k < size; ++k) connect(k - 1, k);
  } else {
    for (std::size_t k = 1; k < size; ++k) connect(static_cast<std::size_t>(draw(static_cast<std::int64_t>(k) - 1)), k);
    for (std::size_t e = 0; e < extra; ++e) {
      const auto to = 1 + static_cast<std::size_t>(draw(static_cast<std::int64_t>(size) - 2));
      connect(static_cast<std::size_t>(draw(static_cast<std::int64_t>(to) - 1)), to);
    }
  }
  put_in_order(graph, "random");
  return graph;
}

/// `graph` on one level of `devices`.
inline PlanProblem flat_problem(const LayerGraph& graph, std::int32_t devices, double bytes_per_s = 1e9) {
  PlanProblem problem;
  problem.network.layers = graph;
  problem.levels = {{devices, bytes_per_s}};
  return problem;
}

}  // namespace plumb::testing
