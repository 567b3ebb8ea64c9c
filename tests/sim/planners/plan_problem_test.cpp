#include "sim/planners/problem.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "models/cluster/cluster.hpp"
#include "models/graphs/layer_chain.hpp"
#include "sim/planners/chain_stages.hpp"
#include "sim/planners/ordered_stages.hpp"
#include "sim/planners/planner.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/random_layers.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb::testing {

TEST_CASE("neighbouring devices talk by the narrowest level that they need between them") {
  PlanProblem problem;
  problem.levels = {{2, 9e9}, {3, 5e9}, {2, 1e9}};
  CHECK(problem.num_devices() == 12);
  const std::vector<double> rates{9e9, 9e9, 5e9, 5e9, 5e9, 5e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9};
  for (std::int32_t devices = 1; devices <= 12; ++devices) {
    CAPTURE(devices);
    CHECK(problem.bytes_per_s_between(devices) == rates[static_cast<std::size_t>(devices - 1)]);
  }
  // Before device 1 lies a link of a pair, before 2 one of the next level, before 6 the outermost.
  const std::vector<double> before{9e9, 5e9, 9e9, 5e9, 9e9, 1e9, 9e9, 5e9, 9e9, 5e9, 9e9};
  for (std::int32_t device = 1; device < 12; ++device) {
    CAPTURE(device);
    CHECK(bytes_per_s_before(problem, device) == before[static_cast<std::size_t>(device - 1)]);
  }
  CHECK(problem.speed_of(5) == 1);
  CHECK(problem.memory_of(5) == 0);
  problem.speed = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  problem.memory_bytes = 7;
  CHECK(problem.speed_of(5) == 6);
  CHECK(speed_of(problem, {0, 1, 4, 3}) == 5);
  CHECK(problem.memory_of(5) == 7);
  problem.memory_by_device.assign(12, 3);
  CHECK(problem.memory_of(5) == 3);
  CHECK(ring_ns(1000, 1, 1e9) == 0);
  CHECK(ring_ns(1000, 4, 1e9) == 1500);
}

TEST_CASE("levels of a cluster are its nodes' devices and its nodes, each where there are several") {
  const auto levels = [](std::int32_t nodes, std::int32_t per_node) {
    Cluster cluster;
    cluster.devices.assign(static_cast<std::size_t>(nodes * per_node), {});
    cluster.devices_per_node = per_node;
    cluster.intra_node.bytes_per_s = 9;
    cluster.inter_node.bytes_per_s = 5;
    std::vector<std::pair<std::int32_t, double>> found;
    for (const MachineLevel& level : levels_of(cluster)) found.emplace_back(level.count, level.bytes_per_s);
    return found;
  };
  using Levels = std::vector<std::pair<std::int32_t, double>>;
  CHECK(levels(1, 1) == Levels{{1, 9}});
  CHECK(levels(1, 4) == Levels{{4, 9}});
  CHECK(levels(3, 1) == Levels{{3, 5}});
  CHECK(levels(3, 2) == Levels{{2, 9}, {3, 5}});
}

TEST_CASE("an option of planners with a number for each device takes as many as there are, up to a limit") {
  PlanProblem problem;
  problem.levels = {{3, 1e9}};
  problem.options = {{"each", "1-9-4"}};
  CHECK(problem.number_of_each("each", 5, 9) == std::vector<std::int64_t>{1, 9, 4});
  CHECK(problem.number_of_each("absent", 5, 9) == std::vector<std::int64_t>{5, 5, 5});
  for (const char* wrong : {"1-9", "1-9-4-1", "1-9-", "1-9-4-", "0-9-4", "1-10-4", "1-9-x", "1,9,4", "", "-1-9-4"}) {
    CAPTURE(wrong);
    problem.options["each"] = wrong;
    CHECK(error_message([&] { problem.number_of_each("each", 5, 9); }) ==
          "option each: expected a whole number from 1 to 9 for each of the 3 devices, such as 8-8-16, found '" +
              std::string(wrong) + "'");
  }
}

TEST_CASE("a problem without layers, devices, bandwidth, speeds or microbatches is refused") {
  const auto why = [](auto change) {
    PlanProblem problem = flat_problem(random_layers(1, 3), 2);
    change(problem);
    return error_message([&] { check_problem(problem); });
  };
  CHECK(why([](PlanProblem&) {}).empty());
  CHECK(why([](PlanProblem& p) { p.network.layers.nodes.clear(); }) ==
        "network 'random': has no layers, expected at least one");
  CHECK(why([](PlanProblem& p) { p.levels.clear(); }) == "plan: expected devices");
  CHECK(why([](PlanProblem& p) { p.levels[0].count = 0; }) == "plan: expected at least one device on every level");
  CHECK(why([](PlanProblem& p) { p.levels[0].bytes_per_s = 0; }) ==
        "plan: expected a bandwidth above 0 between 2 devices");
  CHECK(why([](PlanProblem& p) { p.levels[0] = {1, 0}; }).empty());
  CHECK(why([](PlanProblem& p) { p.speed = {1, 1}; }).empty());
  CHECK(why([](PlanProblem& p) { p.speed = {1}; }) == "plan: expected a speed for each of 2 devices, found 1");
  CHECK(why([](PlanProblem& p) { p.microbatches = 1; }).empty());
  CHECK(why([](PlanProblem& p) { p.microbatches = 0; }) == "plan: expected at least one microbatch");
}

TEST_CASE("autopipe-dynamic ends where no border that moves by a layer makes the stages faster, slowest first") {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    PlanProblem problem = flat_problem(random_layers(seed, 9), 4, seed % 2 == 0 ? 1e9 : 1e12);
    problem.speed = {1, 0.5, 0.25, 1};
    const LayerChain chain = chain_of(problem.network.layers);
    const auto times = [&](const std::vector<std::size_t>& cut) {
      std::vector<double> all;
      for (std::size_t s = 0; s < 4; ++s) {
        const double compute = static_cast<double>(chain.total(cut[s], cut[s + 1])) / problem.speed[s];
        const double link = 2e9 * static_cast<double>(chain.cut_bytes[cut[s]]) / problem.levels[0].bytes_per_s;
        all.push_back(std::max(compute, link));
      }
      return all;
    };
    const auto slowest_first = [&](const std::vector<std::size_t>& cut) {
      std::vector<double> all = times(cut);
      std::ranges::sort(all, std::greater<>());
      return all;
    };
    const Plan plan = make_plan(find_planner("autopipe-dynamic"), problem);
    std::vector<std::size_t> bounds{0};
    for (const PlanStage& stage : plan.stages) bounds.push_back(bounds.back() + stage.layers.size());
    const std::vector<double> now = times(bounds);
    for (std::size_t s = 0; s < 4; ++s) {
      CHECK(plan.stages[s].load_ns == doctest::Approx(now[s]));
      CHECK(plan.stages[s].devices == std::vector<std::int32_t>{static_cast<std::int32_t>(s)});
    }
    CHECK(plan.claimed_ns == slowest_first(bounds).front());
    CHECK(slowest_first(bounds) <= slowest_first(balanced_bounds(chain, 4)));
    for (std::size_t border = 1; border < 4; ++border) {
      for (const int by : {-1, 1}) {
        std::vector<std::size_t> other = bounds;
        other[border] = by > 0 ? other[border] + 1 : other[border] - 1;
        if (other[border] == other[border - 1] || other[border] == other[border + 1]) continue;
        CHECK(slowest_first(other) >= slowest_first(bounds));
      }
    }
  }
}

TEST_CASE("slicegraph without generations cuts the graph's own order as well as it can be") {
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    PlanProblem problem = flat_problem(random_layers(seed, 8, 5), 3, 5e8);
    problem.options["generations"] = "0";
    const LayerGraph& graph = problem.network.layers;
    // Layers [begin, end): work, and each output once that is read over a border, 2 ns a byte.
    const auto block = [&](std::size_t begin, std::size_t end) {
      double cost = 0;
      for (std::size_t k = 0; k < 8; ++k) {
        const bool own = k >= begin && k < end;
        bool crosses = false;
        for (const LayerEdge& edge : graph.edges) {
          const auto to = static_cast<std::size_t>(edge.to);
          if (static_cast<std::size_t>(edge.from) == k && (to >= begin && to < end) != own) crosses = true;
        }
        if (own) cost += static_cast<double>(graph.nodes[k].total_ns());
        if (crosses) cost += 2 * static_cast<double>(graph.nodes[k].output_bytes);
      }
      return cost;
    };
    double best = block(0, 8);
    for (std::size_t a = 1; a < 8; ++a) {
      best = std::min(best, std::max(block(0, a), block(a, 8)));
      for (std::size_t b = a + 1; b < 8; ++b) best = std::min(best, std::max({block(0, a), block(a, b), block(b, 8)}));
    }
    const Plan plan = make_plan(find_planner("slicegraph"), problem);
    CHECK(plan.claimed_ns == doctest::Approx(best));
    double all = 0;
    double largest = 0;
    for (const LayerNode& node : graph.nodes) {
      all += static_cast<double>(node.total_ns());
      largest = std::max(largest, static_cast<double>(node.total_ns()));
    }
    CHECK(plan.lower_bound_ns == doctest::Approx(std::max(all / 3, largest)));
    std::size_t begin = 0;
    for (const PlanStage& stage : plan.stages) {
      CHECK(stage.load_ns == doctest::Approx(block(begin, begin + stage.layers.size())));
      begin += stage.layers.size();
    }
  }
}

TEST_CASE("torchgpipe's bound is the largest stage of the cut that is best for the largest") {
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    const PlanProblem problem = flat_problem(random_layers(seed, 8), 3);
    const LayerChain chain = chain_of(problem.network.layers);
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t a = 1; a < 7; ++a) {
      for (std::size_t b = a + 1; b < 8; ++b) {
        best = std::min(best, static_cast<double>(std::max({chain.total(0, a), chain.total(a, b), chain.total(b, 8)})));
      }
    }
    const Plan plan = make_plan(find_planner("torchgpipe"), problem);
    CHECK(plan.lower_bound_ns == best);
    double largest = 0;
    for (const PlanStage& stage : plan.stages) largest = std::max(largest, stage.load_ns);
    CHECK(plan.claimed_ns == largest);
    CHECK(plan.stages.size() == 3);
  }
}

}  // namespace plumb::testing

TEST_SUITE_END();
