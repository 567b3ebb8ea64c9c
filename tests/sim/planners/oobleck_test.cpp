#include <doctest/doctest.h>

#include "models/graphs/layer_chain.hpp"
#include "sim/planners/planner.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/random_layers.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb::testing {
namespace {

PlanProblem layers_of_times(const std::vector<std::int64_t>& times, std::int32_t devices) {
  LayerGraph graph;
  graph.name = "times";
  for (std::size_t k = 0; k < times.size(); ++k) {
    LayerNode node;
    node.id = node.name = "n" + std::to_string(k);
    node.forward_ns = times[k];
    node.parameter_bytes = node.output_bytes = node.stash_bytes = 1;
    graph.nodes.push_back(node);
    if (k > 0) graph.edges.push_back({static_cast<std::int32_t>(k) - 1, static_cast<std::int32_t>(k), 1});
  }
  return flat_problem(graph, devices);
}

std::vector<double> loads(const Plan& plan) {
  std::vector<double> all;
  for (const PlanStage& stage : plan.stages) all.push_back(stage.load_ns);
  return all;
}

/// T1 + T2 + T3 of stages with these times.
double template_time(const std::vector<double>& stages) {
  double all = 0;
  std::size_t longest = 0;
  for (std::size_t k = 0; k < stages.size(); ++k) {
    all += stages[k];
    if (stages[k] >= stages[longest]) longest = k;
  }
  double rest = 0;
  for (std::size_t k = longest; k < stages.size(); ++k) rest += stages[k];
  const std::size_t factor = stages.size() == 1 ? 2 : 2 * stages.size() + longest + 1;
  return all + static_cast<double>(factor) * stages[longest] + rest;
}

/// The least template time of all cuts of layers from `begin` on.
double least_template(const LayerChain& chain, std::size_t begin, std::size_t left, std::vector<double>& stages) {
  if (left == 1) {
    stages.push_back(static_cast<double>(chain.total(begin, chain.size())));
    const double time = template_time(stages);
    stages.pop_back();
    return time;
  }
  double least = 1e300;
  for (std::size_t end = begin + 1; end + left - 1 <= chain.size(); ++end) {
    stages.push_back(static_cast<double>(chain.total(begin, end)));
    least = std::min(least, least_template(chain, end, left - 1, stages));
    stages.pop_back();
  }
  return least;
}

}  // namespace

TEST_CASE("oobleck's templates of eight layers of 3 take 108, 111 and 102, and with one of 6 132, 117 and 135") {
  // SymbioticLab/Oobleck @ 3b7a0c2, create_pipeline_templates on nodes of one GPU, with sums that begin at 0.
  const std::vector<std::int64_t> even(8, 3);
  CHECK(loads(make_plan(find_planner("oobleck"), layers_of_times(even, 2))) == std::vector<double>{12, 12});
  CHECK(loads(make_plan(find_planner("oobleck"), layers_of_times(even, 3))) == std::vector<double>{9, 9, 6});
  CHECK(loads(make_plan(find_planner("oobleck"), layers_of_times(even, 4))) == std::vector<double>{6, 6, 6, 6});
  const std::vector<std::int64_t> uneven{3, 3, 3, 3, 6, 3, 3, 3};
  const auto time = [](const std::vector<std::int64_t>& times, std::int32_t stages) {
    return make_plan(find_planner("oobleck"), layers_of_times(times, stages)).claimed_ns;
  };
  CHECK(std::vector<double>{time(even, 2), time(even, 3), time(even, 4)} == std::vector<double>{108, 111, 102});
  // Runs of layers, each as the longest stage at every place.
  CHECK(make_plan(find_planner("oobleck"), layers_of_times(even, 3)).states == 8 * 9 / 2 * 3);
  CHECK(std::vector<double>{time(uneven, 2), time(uneven, 3), time(uneven, 4)} == std::vector<double>{132, 117, 135});
}

TEST_CASE("oobleck counts the sets of pipelines that use so many nodes") {
  PlanProblem problem = layers_of_times(std::vector<std::int64_t>(8, 3), 4);
  CHECK(make_plan(find_planner("oobleck"), problem).instances == 0);
  for (std::int32_t nodes = 1; nodes <= 30; ++nodes) {
    problem.options = {{"nodes", std::to_string(nodes)}, {"least", "2"}};
    std::int64_t sets = 0;
    for (std::int32_t twos = 0; twos <= nodes; ++twos) {
      for (std::int32_t threes = 0; threes <= nodes; ++threes) {
        const std::int32_t left = nodes - 2 * twos - 3 * threes;
        sets += left >= 0 && left % 4 == 0 ? 1 : 0;
      }
    }
    CHECK(make_plan(find_planner("oobleck"), problem).instances == sets);
  }
  problem.options = {{"least", "2"}};
  CHECK(error_message([&] { make_plan(find_planner("oobleck"), problem); }) ==
        "option least: expected option nodes with it");
  problem.options = {{"nodes", "13"}, {"least", "5"}};
  CHECK(error_message([&] { make_plan(find_planner("oobleck"), problem); }) ==
        "option least: expected at most as many nodes as devices");
  problem.options = {{"nodes", "1.5"}};
  CHECK(error_message([&] { make_plan(find_planner("oobleck"), problem); }) ==
        "option nodes: expected a whole number from 1 to 100000, found '1.5'");
}

TEST_CASE("no cut has a shorter template than oobleck's plan") {
  for (std::uint32_t seed = 1; seed <= 10; ++seed) {
    for (std::int32_t devices = 1; devices <= 5; ++devices) {
      const PlanProblem problem = flat_problem(random_layers(seed, 8), devices);
      const Plan plan = make_plan(find_planner("oobleck"), problem);
      std::vector<double> stages;
      CHECK(plan.claimed_ns ==
            least_template(chain_of(problem.network.layers), 0, static_cast<std::size_t>(devices), stages));
      CHECK(template_time(loads(plan)) == plan.claimed_ns);
    }
  }
}

}  // namespace plumb::testing

TEST_SUITE_END();
