#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "sim/planners/planner.hpp"
#include "sim/planners/spans/span_flow.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/random_layers.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb::testing {

TEST_CASE("petals: five servers join eight blocks at 0, 4, 4, 3 and 0; the slowest block has 0, 6, 6, 10 and 10") {
  const std::vector<std::int32_t> blocks{4, 4, 3, 5, 4};
  const std::vector<double> speed{10, 6, 8, 4, 5};
  const std::vector<std::int32_t> starts{0, 4, 4, 3, 0};
  const std::vector<double> slowest{0, 6, 6, 10, 10};
  for (std::size_t joined = 1; joined <= blocks.size(); ++joined) {
    CAPTURE(joined);
    const Swarm swarm = joined_swarm(8, std::span(blocks).first(joined), speed);
    CHECK(swarm.spans.back().begin == starts[joined - 1]);
    CHECK(*std::ranges::min_element(swarm.throughput) == slowest[joined - 1]);
  }
}

TEST_CASE("the largest flow through spans is that of the narrowest cut") {
  // 0 holds the first half at 10, 1 and 2 the second at 4 and 3, so 7; links of 2.5 let 5 through.
  const std::vector<FlowServer> servers{{{0, 2}, 10}, {{2, 4}, 4}, {{2, 4}, 3}};
  CHECK(span_flow(4, servers, 100) == 7);
  CHECK(span_flow(4, servers, 2.5) == 5);
  // A server of the whole network adds its own, and one whose span begins earlier takes requests in the middle.
  CHECK(span_flow(4, std::vector<FlowServer>{{{0, 4}, 2}, {{0, 2}, 10}, {{1, 4}, 3}}, 100) == 5);
  CHECK(span_flow(4, std::vector<FlowServer>{{{0, 2}, 10}, {{3, 4}, 3}}, 100) == 0);
}

TEST_CASE("without a limit every device holds all layers, and both planners give the sum of their rates") {
  PlanProblem problem = flat_problem(random_layers(2, 6), 3);
  problem.speed = {1, 0.5, 0.25};
  double forward = 0;
  for (const LayerNode& node : problem.network.layers.nodes) forward += static_cast<double>(node.forward_ns);
  const Plan helix = make_plan(find_planner("helix"), problem);
  CHECK(helix.claimed_ns == doctest::Approx(forward / 1.75).epsilon(1e-4));
  CHECK(helix.stages.size() == 1);
  CHECK(make_plan(find_planner("petals"), problem).claimed_ns == doctest::Approx(forward / 6 / 1.75));
}

TEST_CASE("with little memory devices hold parts, and too little memory is told") {
  LayerGraph graph = random_layers(2, 6);
  for (LayerNode& node : graph.nodes) node.parameter_bytes = 100;
  PlanProblem problem = flat_problem(graph, 4);
  problem.memory_bytes = 300;
  const Plan plan = make_plan(find_planner("petals"), problem);
  CHECK(plan.stages.size() == 2);
  for (const PlanStage& stage : plan.stages) CHECK(stage.replicas == 2);
  problem.memory_bytes = 100;
  CHECK(error_message([&] { make_plan(find_planner("petals"), problem); }) ==
        "petals: the devices together do not hold all layers");
  CHECK(error_message([&] { make_plan(find_planner("helix"), problem); }) ==
        "helix: no way through the devices holds all layers");
  problem.memory_bytes = 50;
  CHECK(error_message([&] { make_plan(find_planner("petals"), problem); }) ==
        "the weights of the largest layer do not fit into the memory of a device");
}

TEST_CASE("a device holds what its memory has room for, not as many layers as the largest one fits in times") {
  LayerGraph graph = random_layers(2, 6);
  for (LayerNode& node : graph.nodes) node.parameter_bytes = 10;
  graph.nodes.front().parameter_bytes = graph.nodes.back().parameter_bytes = 100;
  PlanProblem problem = flat_problem(graph, 4);
  for (const char* method : {"petals", "helix"}) {
    CAPTURE(method);
    problem.memory_bytes = 239;  // two of the largest layers, or the whole network but a byte
    const Plan plan = make_plan(find_planner(method), problem);
    for (const PlanStage& stage : plan.stages) CHECK(stage.layers.size() < 6);
    problem.memory_bytes = 240;
    CHECK(make_plan(find_planner(method), problem).stages.size() == 1);
    problem.memory_bytes = 110;
    CHECK(make_plan(find_planner(method), problem).claimed_ns >= plan.claimed_ns);
  }
}

TEST_CASE("more memory is never worse for petals and helix") {
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    LayerGraph graph = random_layers(seed, 9);
    std::int64_t all = 0;
    for (std::size_t layer = 0; layer < graph.nodes.size(); ++layer) {
      const auto number = static_cast<std::int64_t>(layer + seed);
      graph.nodes[layer].parameter_bytes = 10 + number * number % 7 * 20;
      all += graph.nodes[layer].parameter_bytes;
    }
    PlanProblem problem = flat_problem(graph, 5);
    problem.speed = {1, 0.5, 2, 1, 0.75};
    for (const char* method : {"petals", "helix"}) {
      double before = std::numeric_limits<double>::infinity();
      for (problem.memory_bytes = 130; problem.memory_bytes <= all + 10; problem.memory_bytes += 10) {
        CAPTURE(seed);
        CAPTURE(method);
        CAPTURE(problem.memory_bytes);
        double now = std::numeric_limits<double>::infinity();
        const std::string why = error_message([&] { now = make_plan(find_planner(method), problem).claimed_ns; });
        CHECK((why.empty() || before > 1e300));
        CHECK(now <= before);
        before = now;
      }
      CHECK(before < 1e300);
    }
  }
}

TEST_CASE("a device that has no room for the largest layer takes others") {
  LayerGraph graph = random_layers(2, 4);
  for (LayerNode& node : graph.nodes) node.parameter_bytes = 10;
  graph.nodes.front().parameter_bytes = 100;
  PlanProblem problem = flat_problem(graph, 3);
  problem.memory_bytes = 5;
  problem.memory_by_device = {5, 30, 100};
  const Plan plan = make_plan(find_planner("helix"), problem);
  REQUIRE(plan.stages.size() == 2);
  CHECK(plan.stages[0].devices == std::vector<std::int32_t>{2});
  CHECK(plan.stages[0].layers == std::vector<std::int32_t>{0});
  CHECK(plan.stages[1].devices == std::vector<std::int32_t>{1});
}

TEST_CASE("servers of unlike size are given by their blocks") {
  PlanProblem problem = flat_problem(random_layers(2, 8), 3);
  problem.options["blocks"] = "4-4-3";
  const Plan plan = make_plan(find_planner("petals"), problem);
  REQUIRE(plan.stages.size() == 3);
  CHECK(plan.stages[0].layers == std::vector<std::int32_t>{0, 1, 2, 3});
  CHECK(plan.stages[1].layers == std::vector<std::int32_t>{0, 1, 2});
  CHECK(plan.stages[2].layers == std::vector<std::int32_t>{4, 5, 6, 7});
  problem.options["blocks"] = "4-4";
  CHECK(error_message([&] { make_plan(find_planner("petals"), problem); }) ==
        "option blocks: expected a whole number from 1 to 8 for each of the 3 devices, such as 8-8-16, found '4-4'");
  problem.options["blocks"] = "4-9-1";
  CHECK(error_message([&] { make_plan(find_planner("helix"), problem); }).starts_with("option blocks: expected"));
}

}  // namespace plumb::testing

TEST_SUITE_END();
