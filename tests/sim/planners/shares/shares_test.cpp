#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>

#include "sim/planners/planner.hpp"
#include "sim/planners/shares/layer_choices.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/random_layers.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb::testing {
namespace {

std::vector<std::vector<LayerChoice>> equal_layers(std::size_t count, const std::vector<LayerChoice>& choices) {
  return std::vector<std::vector<LayerChoice>>(count, choices);
}

std::size_t how_many(const ChosenLayers& chosen, std::size_t choice) {
  return static_cast<std::size_t>(std::ranges::count(chosen.choice, choice));
}

}  // namespace

TEST_CASE("osdp's released tables: 24 layers in 8192 MB less 800 take 2.6279 s and 2.8151 s, 48 layers do not fit") {
  // Hidden size 2048: memory in MB and seconds of the four strategies, of the released profile.
  const std::vector<LayerChoice> first{{672, 0.091735707}, {486, 0.098488801}, {288, 0.11049611}, {177, 0.127580418}};
  const std::vector<LayerChoice> second{{672, 0.104178276}, {484, 0.109913554}, {311, 0.115949452}, {252, 0.132114854}};
  constexpr std::int64_t kLimit = 8192 - 800;
  const auto one = cheapest_choices(equal_layers(24, first), kLimit);
  REQUIRE(one);
  CHECK(one->time == doctest::Approx(2.6279).epsilon(2e-5));
  CHECK(how_many(*one, 1) == 2);
  CHECK(how_many(*one, 2) == 22);
  const auto two = cheapest_choices(equal_layers(24, second), kLimit);
  REQUIRE(two);
  CHECK(two->time == doctest::Approx(2.8151).epsilon(2e-5));
  CHECK(how_many(*two, 2) == 22);
  CHECK(how_many(*two, 3) == 2);
  CHECK(!cheapest_choices(equal_layers(48, first), kLimit));
}

TEST_CASE("osdp with measured strategies plans as its knapsack does, and says which layers take which") {
  PlanProblem problem = flat_problem(random_layers(3, 24), 8);
  problem.memory_bytes = std::int64_t{7392} << 20;
  problem.options["choices"] = "672:91.735707,486:98.488801,288:110.49611,177:127.580418";
  const Plan plan = make_plan(find_planner("osdp"), problem);
  CHECK(plan.claimed_ns == doctest::Approx(2.6279e9).epsilon(2e-5));
  CHECK(plan.remarks.size() == 2);
  CHECK(plan.remarks[0].starts_with("strategy 1: layers "));
  std::set<int> named;  // "0-3, 7" of both strategies: every layer once
  for (const std::string& remark : plan.remarks) {
    std::istringstream ranges(remark.substr(remark.find("layers ") + 7));
    for (int first = 0; ranges >> first;) {
      int last = first;
      if (ranges.peek() == '-') ranges.ignore() >> last;
      if (ranges.peek() == ',') ranges.ignore();
      for (int layer = first; layer <= last; ++layer) CHECK(named.insert(layer).second);
    }
  }
  CHECK(named.size() == 24);
  CHECK(*named.begin() == 0);
  CHECK(*named.rbegin() == 23);
  for (const char* bad : {"672", "672:", "672:x", "-1:2", "672:91,", "672:91;3:4", "99999999:1"}) {
    problem.options["choices"] = bad;
    CAPTURE(bad);
    CHECK(error_message([&] {
            make_plan(find_planner("osdp"), problem);
          }).starts_with("option choices: expected MiB:ms of every strategy"));
  }
}

TEST_CASE("the knapsack's choice is the best of all") {
  const std::vector<std::vector<LayerChoice>> layers{
      {{5, 1}, {3, 2}, {1, 4.5}}, {{4, 2}, {2, 3}}, {{6, 1}, {1, 7}}, {{3, 1}, {2, 1.5}}};
  for (std::int64_t limit = 0; limit <= 20; ++limit) {
    CAPTURE(limit);
    double best = 1e300;
    for (std::size_t code = 0; code < 24; ++code) {
      const std::size_t choice[] = {code % 3, code / 3 % 2, code / 6 % 2, code / 12};
      double time = 0;
      std::int64_t memory = 0;
      for (std::size_t k = 0; k < 4; ++k) {
        time += layers[k][choice[k]].time;
        memory += layers[k][choice[k]].memory;
      }
      if (memory <= limit) best = std::min(best, time);
    }
    const auto chosen = cheapest_choices(layers, limit);
    CHECK(chosen.has_value() == (best < 1e300));
    if (chosen) CHECK(chosen->time == doctest::Approx(best));
  }
}

TEST_CASE("osdp shards no layer where all fit, some where memory is short, and says when nothing fits") {
  PlanProblem problem = flat_problem(random_layers(3, 12), 8);
  const Plan roomy = make_plan(find_planner("osdp"), problem);
  CHECK(roomy.remarks == std::vector<std::string>{"no layer is sharded"});
  problem.memory_bytes = std::int64_t{512} << 20;
  const Plan tight = make_plan(find_planner("osdp"), problem);
  CHECK(tight.claimed_ns > roomy.claimed_ns);
  CHECK(tight.remarks[0].starts_with("sharded layers: "));
  problem.memory_bytes = 1 << 20;
  CHECK(error_message([&] { make_plan(find_planner("osdp"), problem); }) ==
        "osdp: the network does not fit into the memory of the devices, even when all layers are sharded");
}

TEST_CASE(
    "whale shares nine microbatches 6 to 3 between a device and one of half its speed, 5 to 4 if it has no room") {
  LayerGraph graph = random_layers(1, 1);
  graph.nodes[0].parameter_bytes = 0;
  graph.nodes[0].stash_bytes = 10;
  PlanProblem problem = flat_problem(graph, 2);
  problem.speed = {1, 0.5};
  problem.microbatches = 9;
  const Plan plan = make_plan(find_planner("whale"), problem);
  CHECK(plan.remarks == std::vector<std::string>{"shares of the batch: 6 3"});
  CHECK(plan.claimed_ns == doctest::Approx(6.0 * static_cast<double>(graph.nodes[0].total_ns())));
  problem.memory_bytes = 50;
  CHECK(make_plan(find_planner("whale"), problem).remarks == std::vector<std::string>{"shares of the batch: 5 4"});
  problem.memory_by_device = {30, 0};
  CHECK(make_plan(find_planner("whale"), problem).shares == std::vector<std::int64_t>{3, 6});
  problem.memory_by_device.clear();
  problem.memory_bytes = 40;
  CHECK(error_message([&] { make_plan(find_planner("whale"), problem); }) ==
        "whale: 9 microbatches do not fit into the memory of the devices together");
}

TEST_CASE("whale counts a byte for each microbatch where a network keeps nothing") {
  LayerGraph graph = random_layers(1, 1);
  graph.nodes[0].parameter_bytes = 10;
  graph.nodes[0].stash_bytes = graph.nodes[0].output_bytes = 0;
  PlanProblem problem = flat_problem(graph, 2);
  problem.microbatches = 6;
  problem.memory_bytes = 4 * 10 + 3;  // four copies of the weights, and room for three
  CHECK(make_plan(find_planner("whale"), problem).claimed_ns ==
        doctest::Approx(3.0 * static_cast<double>(graph.nodes[0].total_ns())));
  problem.memory_bytes = 4 * 10 + 2;
  CHECK(error_message([&] { make_plan(find_planner("whale"), problem); }) ==
        "whale: 6 microbatches do not fit into the memory of the devices together");
}

}  // namespace plumb::testing

TEST_SUITE_END();
