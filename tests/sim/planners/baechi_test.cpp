#include <doctest/doctest.h>

#include "sim/planners/planner.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/random_layers.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb::testing {
namespace {

/// Operators a, b, c, d of time 2 and memory 2: chains a-b and c-d, whose outputs take 1 to another device.
PlanProblem two_chains() {
  LayerGraph graph;
  graph.name = "two chains";
  for (const char* name : {"a", "b", "c", "d"}) {
    LayerNode node;
    node.id = node.name = name;
    node.forward_ns = 2;
    node.output_bytes = 1;
    node.stash_bytes = 2;
    graph.nodes.push_back(node);
  }
  graph.edges = {{0, 1, 1}, {2, 3, 1}};
  return flat_problem(graph, 2, 1e9);
}

}  // namespace

TEST_CASE("m-topo fills a device with three operators of memory 2 under a cap of 6, and the other with one") {
  const Plan plan = make_plan(find_planner("baechi"), two_chains());
  REQUIRE(plan.stages.size() == 2);
  CHECK(plan.stages[0].layers == std::vector<std::int32_t>{0, 1, 2});
  CHECK(plan.stages[1].layers == std::vector<std::int32_t>{3});
  CHECK(plan.claimed_ns == 9);  // a, b and c one after another, the transfer, and d
}

TEST_CASE("m-etf puts two chains of two operators on two devices, done after 4") {
  PlanProblem problem = two_chains();
  problem.options["etf"] = "1";
  const Plan plan = make_plan(find_planner("baechi"), problem);
  REQUIRE(plan.stages.size() == 2);
  CHECK(plan.stages[0].layers == std::vector<std::int32_t>{0, 1});
  CHECK(plan.stages[1].layers == std::vector<std::int32_t>{2, 3});
  CHECK(plan.claimed_ns == 4);
}

TEST_CASE("baechi keeps to the memory of the devices and names the layer that fits nowhere") {
  PlanProblem problem = two_chains();
  problem.options["etf"] = "1";
  problem.memory_bytes = 4;
  for (const PlanStage& stage : make_plan(find_planner("baechi"), problem).stages) CHECK(stage.layers.size() == 2);
  problem.memory_bytes = 3;
  CHECK(error_message([&] { make_plan(find_planner("baechi"), problem); }) == "baechi: layer 'b' fits on no device");
}

TEST_CASE("an earliest start is never later than operators one after another on one device") {
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    PlanProblem problem = flat_problem(random_layers(seed, 12, 4), 3, 1e15);
    problem.options["etf"] = "1";
    double all = 0;
    for (const LayerNode& node : problem.network.layers.nodes) all += static_cast<double>(node.total_ns());
    CHECK(make_plan(find_planner("baechi"), problem).claimed_ns <= all);
  }
}

}  // namespace plumb::testing

TEST_SUITE_END();
