#include "models/graphs/layer_graph.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/graphs/ideals.hpp"
#include "models/graphs/layer_chain.hpp"
#include "models/ground/error.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb {
namespace {

using Before = std::vector<std::vector<std::int32_t>>;

/// 0 -> 1 -> 3 and 0 -> 2 -> 3.
LayerGraph diamond() {
  LayerGraph graph{.name = "d", .source = "made up", .samples = 4, .nodes = {}, .edges = {}};
  for (std::int64_t k = 0; k < 4; ++k) {
    graph.nodes.push_back({.id = std::to_string(k),
                           .name = "n",
                           .forward_ns = 10 + k,
                           .backward_ns = 21 + k,
                           .output_bytes = 100 + k,
                           .parameter_bytes = 1000 + k,
                           .stash_bytes = 7 + k});
  }
  graph.edges = {{0, 1, 100}, {0, 2, 100}, {1, 3, 101}, {2, 3, 102}};
  return graph;
}

std::vector<std::int32_t> order_of(std::size_t count, const std::vector<std::pair<std::int32_t, std::int32_t>>& edges) {
  return topological_order(count, edges, {"a", "b", "c", "d", "e", "f", "g"}, "x");
}

}  // namespace

TEST_CASE("a chain of n nodes has n + 1 ideals, n nodes side by side 2^n, and a diamond six") {
  for (const std::size_t n : {1U, 2U, 5U}) {
    Before chain(n);
    for (std::size_t k = 1; k < n; ++k) chain[k] = {static_cast<std::int32_t>(k - 1)};
    CHECK(ideals(chain, 100).size() == n + 1);
    CHECK(ideals(Before(n), 100).size() == std::size_t{1} << n);
  }
  const std::vector<NodeSet> all = ideals({{}, {0}, {0}, {1, 2}}, 6);
  CHECK(all.size() == 6);  // {}, 0, 01, 02, 012, 0123
  for (std::size_t k = 0; k < 4; ++k) {
    CHECK_FALSE(all.front().has(k));
    CHECK(all.back().has(k));
  }
  CHECK(all[1].has(0));
  CHECK_THROWS_WITH_AS(ideals({{}, {0}, {0}, {1, 2}}, 5),
                       "the graph branches too much: it has more than 5 ways to be cut in two, expected fewer (another "
                       "method works on a chain)",
                       Error);
}

TEST_CASE("every ideal has with a node all that it reads, and sizes ascend") {
  const Before before{{}, {}, {0, 1}, {1}, {2, 3}, {}};
  const std::vector<NodeSet> all = ideals(before, 1000);
  const auto size_of = [&](const NodeSet& set) {
    std::size_t size = 0;
    for (std::size_t k = 0; k < before.size(); ++k) size += set.has(k) ? 1 : 0;
    return size;
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0) CHECK(size_of(all[i - 1]) <= size_of(all[i]));
    for (std::size_t k = 0; k < before.size(); ++k) {
      for (const std::int32_t p : before[k]) {
        if (all[i].has(k)) CHECK(all[i].has(static_cast<std::size_t>(p)));
      }
    }
  }
  // Counted apart: all 64 sets of nodes, asked one by one.
  std::size_t closed = 0;
  for (std::uint32_t set = 0; set < 64; ++set) {
    bool ideal = true;
    for (std::size_t k = 0; k < before.size(); ++k) {
      for (const std::int32_t p : before[k]) ideal = ideal && ((set >> k & 1U) == 0 || (set >> p & 1U) == 1);
    }
    closed += ideal ? 1 : 0;
  }
  CHECK(all.size() == closed);
}

TEST_CASE("a topological order takes the smallest node that nothing waits in front of") {
  CHECK(order_of(4, {{3, 1}, {2, 1}}) == std::vector<std::int32_t>{0, 2, 3, 1});
  CHECK(order_of(3, {}) == std::vector<std::int32_t>{0, 1, 2});
  CHECK(order_of(3, {{2, 0}, {2, 0}}) == std::vector<std::int32_t>{1, 2, 0});
}

TEST_CASE("a cycle is told with up to five of its nodes") {
  const auto told = [](std::size_t count, const std::vector<std::pair<std::int32_t, std::int32_t>>& edges) {
    try {
      order_of(count, edges);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(told(2, {{1, 1}}) == "x: the graph has a cycle: 'b' reads itself, expected edges that lead forward");
  CHECK(told(4, {{0, 1}, {1, 2}, {2, 1}, {2, 3}}) ==
        "x: the graph has a cycle: 'b', 'c' read each other, expected edges that lead forward");
  CHECK(told(6, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 0}}) ==
        "x: the graph has a cycle: 'a', 'b', 'c', 'd', 'e', ... read each other, expected edges that lead forward");
  CHECK(told(5, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 0}}) ==
        "x: the graph has a cycle: 'a', 'b', 'c', 'd', 'e' read each other, expected edges that lead forward");
}

TEST_CASE("edges lead forward once a graph is in order, and those that repeat are one") {
  LayerGraph graph = diamond();
  std::swap(graph.nodes[0], graph.nodes[3]);
  graph.edges = {{3, 1, 100}, {3, 2, 100}, {1, 0, 101}, {2, 0, 102}, {3, 1, 100}};
  put_in_order(graph, "x");
  CHECK(graph == diamond());
  const Neighbours around = neighbours(graph);
  CHECK(around.before == Before{{}, {0}, {0}, {1, 2}});
  CHECK(around.after == Before{{1, 2}, {3}, {3}, {}});
}

TEST_CASE("what is dropped takes its edges along, and the first node may be dropped as any other") {
  const LayerGraph rest = without(diamond(), {false, true, false, false});
  CHECK(rest.size() == 3);
  CHECK(rest.edges == std::vector<LayerEdge>{{0, 1, 100}, {1, 2, 102}});
  CHECK(without(diamond(), {true, false, false, false}).edges == std::vector<LayerEdge>{{0, 2, 101}, {1, 2, 102}});
  CHECK(without(diamond(), {false, false, false, true}).edges == std::vector<LayerEdge>{{0, 1, 100}, {0, 2, 100}});
  CHECK(rest.samples == 4);
}

TEST_CASE("totals leave out the time of what loads data, and keep its parameters") {
  LayerGraph graph = diamond();
  CHECK(totals(graph).forward_ns == 10 + 11 + 12 + 13);
  CHECK(totals(graph).backward_ns == 21 + 22 + 23 + 24);
  CHECK(totals(graph).parameter_bytes == 1000 + 1001 + 1002 + 1003);
  graph.nodes[0].loads_data = true;
  CHECK(totals(graph).forward_ns == 11 + 12 + 13);
  CHECK(totals(graph).backward_ns == 22 + 23 + 24);
  CHECK(totals(graph).parameter_bytes == 1000 + 1001 + 1002 + 1003);
}

TEST_CASE("a cut of a chain carries every output that is read behind it once, and half of a backward is I") {
  const LayerChain chain = chain_of(diamond());
  CHECK(chain.cut_bytes == std::vector<std::int64_t>{0, 100, 100 + 101, 101 + 102, 0});
  CHECK(chain.forward(1, 3) == 11 + 12);
  CHECK(chain.backward(0, 2) == 21 + 22);
  CHECK(chain.total(2, 4) == 12 + 13 + 23 + 24);
  CHECK(chain.parameters(3, 4) == 1003);
  CHECK(chain.activations(0, 4) == 7 + 8 + 9 + 10);
  const Network network = network_of(diamond());
  REQUIRE(network.layers.size() == 4);
  CHECK(network.samples == 4);
  CHECK(network.layers[2].name == "layer2.2");
  const ProfiledFigures& first = network.layers[0].profiled;
  CHECK(first.f_ns == 10);
  CHECK(first.i_ns == 10);  // of 21
  CHECK(first.w_ns == 11);
  CHECK(first.parameter_bytes == 1000);
  CHECK(first.output_bytes == 100);
  CHECK(first.kept_for_input_grad_bytes == 0);
  CHECK(first.kept_for_weight_grad_bytes == 7);
  CHECK(network.layers[1].profiled.output_bytes == 201);
}

TEST_CASE("stages of one layer each are a chain whose edges carry what the layer before makes") {
  Network network;
  network.layers = {{.name = "a"}, {.name = "b"}, {.name = "c"}};
  StageCosts costs;
  costs.base.ticks_per_ns = 2;
  costs.times = {{.f = 20, .b = 40}, {.f = 22, .b = 44}, {.f = 24, .b = 48}};
  LayerGraph graph = graph_of(network, costs);
  CHECK(graph.samples == 1);
  CHECK(graph.nodes[1].forward_ns == 11);
  CHECK(graph.nodes[2].backward_ns == 24);
  CHECK(graph.edges == std::vector<LayerEdge>{{0, 1, 0}, {1, 2, 0}});
  costs.memory.resize(3);
  for (std::int64_t k = 0; k < 3; ++k) {
    StageMemory& memory = costs.memory[static_cast<std::size_t>(k)];
    memory.output_bytes = 5 + k;
    memory.weight_bytes = 50 + k;
    memory.input_bytes = 500 + k;
    memory.stash = {{"x", 3, StashTensor::MadeBy::kForward, LastUse::kInputGrad},
                    {"y", 4, StashTensor::MadeBy::kForward, LastUse::kWeightGrad}};
  }
  costs.work.samples_per_microbatch = 9;
  graph = graph_of(network, costs);
  CHECK(graph.samples == 9);
  CHECK(graph.edges == std::vector<LayerEdge>{{0, 1, 5}, {1, 2, 6}});
  CHECK(graph.nodes[2].parameter_bytes == 52);
  CHECK(graph.nodes[1].stash_bytes == 501 + 3 + 4);
  CHECK(graph.nodes[0].id == "0");
}

}  // namespace plumb

TEST_SUITE_END();
