#include "sim/planners/placement_blocks.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

TEST_SUITE_BEGIN("sim");

namespace plumb {
namespace {

using PlacementEdges = std::vector<std::pair<std::int32_t, std::int32_t>>;

/// Forward operators of colours of their own; those whose time is 0 are free.
PlacementGraph operators(const std::vector<std::int64_t>& times, PlacementEdges edges) {
  PlacementGraph graph;
  graph.name = "operators";
  for (std::size_t k = 0; k < times.size(); ++k) {
    graph.nodes.push_back({.id = static_cast<std::int64_t>(k),
                           .name = "n" + std::to_string(k),
                           .accelerator_ns = times[k],
                           .cpu_ns = times[k],
                           .bytes = 1 << k,
                           .transfer_ns = 3,
                           .colour = static_cast<std::int64_t>(k)});
  }
  graph.edge_bytes.assign(edges.size(), 1);
  graph.edges = std::move(edges);
  return graph;
}

using NodesOfBlocks = std::vector<std::vector<std::int32_t>>;

NodesOfBlocks nodes_of(const PlacementBlocks& blocks) {
  NodesOfBlocks nodes;
  for (const PlacementBlock& block : blocks.blocks) nodes.push_back(block.nodes);
  return nodes;
}

}  // namespace

TEST_CASE("free operators that nobody reads join the only block that they read, one after the other") {
  CHECK(nodes_of(placement_blocks(operators({5, 7, 0}, {{0, 1}, {1, 2}}))) == NodesOfBlocks{{0}, {1, 2}});
  CHECK(nodes_of(placement_blocks(operators({5, 0, 0, 0}, {{0, 1}, {1, 2}, {2, 3}}))) == NodesOfBlocks{{0, 1, 2, 3}});
  CHECK(nodes_of(placement_blocks(operators({5, 0, 0}, {{0, 1}, {0, 2}}))) == NodesOfBlocks{{0, 1, 2}});
}

TEST_CASE("operators that take time, are read, read two blocks or none, or need a CPU, stay blocks of their own") {
  CHECK(nodes_of(placement_blocks(operators({5, 7, 1}, {{0, 1}, {1, 2}}))) == NodesOfBlocks{{0}, {1}, {2}});
  CHECK(nodes_of(placement_blocks(operators({5, 0, 7}, {{0, 1}, {1, 2}}))) == NodesOfBlocks{{0}, {1}, {2}});
  CHECK(placement_blocks(operators({5, 7, 0}, {{0, 2}, {1, 2}})).blocks.size() == 3);
  CHECK(placement_blocks(operators({5, 0}, {})).blocks.size() == 2);
  PlacementGraph on_cpu = operators({5, 0}, {{0, 1}});
  on_cpu.nodes[1].on_accelerator = false;
  CHECK(placement_blocks(on_cpu).blocks.size() == 2);
}

TEST_CASE("blocks add up their operators, and outputs are those that another block reads") {
  const PlacementBlocks blocks = placement_blocks(operators({5, 7, 0, 4}, {{0, 1}, {0, 3}, {1, 2}}));
  REQUIRE(blocks.blocks.size() == 3);
  std::int64_t time = 0;
  std::int64_t bytes = 0;
  for (const PlacementBlock& block : blocks.blocks) {
    time += block.accelerator_ns;
    bytes += block.bytes;
    CHECK(block.on_accelerator);
    CHECK(block.cpu_ns == block.accelerator_ns);
  }
  CHECK(time == 16);
  CHECK(bytes == 15);
  REQUIRE(blocks.outputs.size() == 1);  // what 1 makes is read inside its block
  CHECK(blocks.outputs[0].transfer_ns == 3);
  for (std::size_t b = 0; b < 3; ++b) CHECK(blocks.outputs[0].blocks.has(b));
  CHECK(blocks.before[0].empty());
  for (const std::size_t b : {1, 2}) CHECK(blocks.before[b] == std::vector<std::int32_t>{0});
}

}  // namespace plumb

TEST_SUITE_END();
