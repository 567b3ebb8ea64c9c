#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

#include "sim/planners/operators/favourite_children.hpp"
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

/// A graph of 8 to 12 operators, drawn by a linear congruential generator so that any program can draw it.
DelayedWork drawn_work(std::uint32_t seed) {
  std::uint64_t state = seed;
  const auto draw = [&state](std::uint64_t below) {
    state = (1103515245 * state + 12345) % 2147483648;
    return static_cast<std::size_t>((state >> 16U) % below);
  };
  DelayedWork work;
  const std::size_t size = 8 + draw(5);
  for (std::size_t i = 0; i < size; ++i) work.times.push_back(static_cast<double>(2 + draw(8)));
  std::vector<double> delays;
  for (std::size_t i = 0; i < size; ++i) delays.push_back(static_cast<double>(1 + draw(5)));
  for (std::size_t i = 1; i < size; ++i) {
    const std::size_t one = draw(i);
    const std::size_t other = draw(i);
    work.edges.push_back({one, i, delays[one]});
    if (other != one) work.edges.push_back({other, i, delays[other]});
  }
  return work;
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

TEST_CASE("m-sct puts two chains of two operators on two devices, done after 4") {
  PlanProblem problem = two_chains();
  problem.options["sct"] = "1";
  const Plan plan = make_plan(find_planner("baechi"), problem);
  REQUIRE(plan.stages.size() == 2);
  CHECK(plan.stages[0].layers == std::vector<std::int32_t>{0, 1});
  CHECK(plan.stages[1].layers == std::vector<std::int32_t>{2, 3});
  CHECK(plan.claimed_ns == 4);
  CHECK(plan.lower_bound_ns == doctest::Approx(4));
  problem.options["etf"] = "1";
  CHECK(error_message([&] { make_plan(find_planner("baechi"), problem); }) ==
        "baechi: options etf and sct, expected one of them");
}

TEST_CASE("m-sct keeps a device for the favourite child of what it ran, where m-etf takes what comes first") {
  // a feeds d and then c, the long way. All outputs take 1: what runs elsewhere starts one later.
  LayerGraph graph;
  graph.name = "wait";
  const auto add = [&](const char* name, std::int64_t time) {
    LayerNode node;
    node.id = node.name = name;
    node.forward_ns = time;
    node.output_bytes = 1;
    graph.nodes.push_back(node);
  };
  add("a", 4);
  add("d", 6);
  add("c", 10);
  graph.edges = {{0, 1, 1}, {0, 2, 1}};
  PlanProblem problem = flat_problem(graph, 2, 1e9);
  problem.options["etf"] = "1";
  const double etf = make_plan(find_planner("baechi"), problem).claimed_ns;
  problem.options = {{"sct", "1"}};
  const double sct = make_plan(find_planner("baechi"), problem).claimed_ns;
  CHECK(etf == 15);
  CHECK(sct == 14);
}

TEST_CASE("baechi keeps to the memory of the devices and names the layer that fits nowhere") {
  PlanProblem problem = two_chains();
  problem.options["etf"] = "1";
  problem.memory_bytes = 4;
  for (const PlanStage& stage : make_plan(find_planner("baechi"), problem).stages) CHECK(stage.layers.size() == 2);
  problem.memory_bytes = 3;
  CHECK(error_message([&] { make_plan(find_planner("baechi"), problem); }) == "baechi: layer 'b' fits on no device");
}

TEST_CASE("the linear programme of m-sct shares a favourite between two children that are equally far from the end") {
  // a, then b and c: one of them would start at 1, the other at 2; half and half is 1.5 for both.
  const DelayedWork fork{.times = {1, 1, 1}, .edges = {{0, 1, 1}, {0, 2, 1}}};
  const FavouriteChildren children = favourite_children(fork, {});
  CHECK(children.makespan == doctest::Approx(2.5));
  CHECK(children.elsewhere[0] + children.elsewhere[1] >= 1 - 1e-9);
  // A longer way behind c makes c the favourite.
  const FavouriteChildren longer = favourite_children({.times = {1, 1, 5}, .edges = {{0, 1, 1}, {0, 2, 1}}}, {});
  CHECK(longer.makespan == doctest::Approx(6));
  CHECK(longer.favourite == std::vector<std::size_t>{2, 3, 3});
  // Of a join one edge is free: the later one.
  const FavouriteChildren join = favourite_children({.times = {3, 1, 1}, .edges = {{0, 2, 1}, {1, 2, 1}}}, {});
  CHECK(join.makespan == doctest::Approx(4));
  CHECK(join.favourite == std::vector<std::size_t>{2, 3, 3});
}

TEST_CASE("the linear programme has the makespan that the released program's has, solved by another solver") {
  // beomyeol/baechi @ afe7278, FavoriteChildLPSolver with CVXOPT's own solver, on the graphs of `drawn_work`.
  const double theirs[] = {34, 37, 31, 42.5, 19, 27, 38, 41.5, 40, 42, 38, 29.090909};
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    CHECK(favourite_children(drawn_work(seed), {}).makespan == doctest::Approx(theirs[seed - 1]).epsilon(1e-6));
  }
}

TEST_CASE("rounded favourites are within 4/3 of the linear programme where no delay exceeds a time (Hanen, Munier)") {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    const LayerGraph graph = random_layers(seed, 14, 6);
    DelayedWork work;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) work.times.push_back(2 + static_cast<double>(i * seed % 5));
    for (const auto& edge : graph.edges) {
      work.edges.push_back({static_cast<std::size_t>(edge.from), static_cast<std::size_t>(edge.to),
                            static_cast<double>(1 + edge.to % 2)});
    }
    const FavouriteChildren children = favourite_children(work, {});
    double without = 0;
    double rounded = 0;
    std::vector<double> bare(work.times.size(), 0);
    std::vector<double> delayed(work.times.size(), 0);
    for (std::size_t i = 0; i < work.times.size(); ++i) {  // random layers stand in topological order
      for (std::size_t e = 0; e < work.edges.size(); ++e) {
        const DelayedWork::Edge& edge = work.edges[e];
        if (edge.to != i) continue;
        bare[i] = std::max(bare[i], bare[edge.from] + work.times[edge.from]);
        const double delay = children.elsewhere[e] < 0.5 - 1e-9 ? 0 : edge.delay;
        delayed[i] = std::max(delayed[i], delayed[edge.from] + work.times[edge.from] + delay);
      }
      without = std::max(without, bare[i] + work.times[i]);
      rounded = std::max(rounded, delayed[i] + work.times[i]);
    }
    CHECK(children.makespan >= without - 1e-6);
    CHECK(rounded <= 4.0 / 3 * children.makespan + 1e-6);
    std::vector<double> kept(work.times.size(), 0);
    for (std::size_t e = 0; e < work.edges.size(); ++e) {
      CHECK(children.elsewhere[e] >= -1e-6);
      CHECK(children.elsewhere[e] <= 1 + 1e-6);
      kept[work.edges[e].from] += 1 - children.elsewhere[e];
    }
    for (const double one : kept) CHECK(one <= 1 + 1e-6);
  }
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
