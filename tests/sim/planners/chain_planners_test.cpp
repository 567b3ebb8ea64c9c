#include <algorithm>
#include <functional>
#include <limits>

#include <doctest/doctest.h>

#include "models/graphs/layer_chain.hpp"
#include "sim/planners/planner.hpp"
#include "sim/planners/step_time.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/random_layers.hpp"

TEST_SUITE_BEGIN("sim");

namespace {

using namespace plumb;
using namespace plumb::testing;

PipelineStages equal_stages(std::size_t count, double forward, double backward) {
  return {std::vector<PipelineStages::Stage>(count, {forward, backward, 0})};
}

/// Calls `visit(bounds)` for every cut of `n` layers into `stages`.
void for_each_cut(std::size_t n, std::size_t stages,
                  const std::function<void(const std::vector<std::size_t>&)>& visit) {
  std::vector<std::size_t> bounds{0};
  const std::function<void()> extend = [&] {
    if (bounds.size() == stages) {
      bounds.push_back(n);
      visit(bounds);
      bounds.pop_back();
      return;
    }
    for (std::size_t next = bounds.back() + 1; next + (stages - bounds.size()) <= n; ++next) {
      bounds.push_back(next);
      extend();
      bounds.pop_back();
    }
  };
  extend();
}

}  // namespace

TEST_CASE("a 1f1b step of equal stages takes (m + p - 1) (F + B), by events and by the pivot formula") {
  for (std::size_t p = 1; p <= 5; ++p) {
    for (std::int64_t m = static_cast<std::int64_t>(p); m <= 8; ++m) {
      CAPTURE(p);
      CAPTURE(m);
      const double expected = 3.0 * static_cast<double>(m + static_cast<std::int64_t>(p) - 1);
      CHECK(one_f_one_b_step_ns(equal_stages(p, 1, 2), m) == doctest::Approx(expected));
      CHECK(pivot_latency(equal_stages(p, 1, 2), m).latency_ns == doctest::Approx(expected));
    }
  }
}

TEST_CASE("the pivot is the stage whose steady phase no other can hide") {
  PipelineStages pipeline = equal_stages(3, 1, 2);
  pipeline.stages[1] = {4, 8, 0};
  CHECK(pivot_latency(pipeline, 10).pivot == 1);
  // Warm-up 1 + 4, nine times 12, and the backwards of the pivot and the stage before it.
  CHECK(pivot_latency(pipeline, 10).latency_ns == doctest::Approx(5 + 108 + 10));
  pipeline.stages[0].all_reduce_ns = 7;
  CHECK(pivot_latency(pipeline, 10).latency_ns == doctest::Approx(5 + 108 + 17));
}

TEST_CASE("torchgpipe's largest block is at most 1 above its smallest, in costs scaled to [0, 1]") {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    const PlanProblem problem = flat_problem(random_layers(seed, 17), 5);
    const std::vector<LayerNode>& layers = problem.network.layers.nodes;
    const auto by_time = [](const LayerNode& a, const LayerNode& b) { return a.total_ns() < b.total_ns(); };
    const auto [least, most] = std::minmax_element(layers.begin(), layers.end(), by_time);
    const Plan plan = make_plan(find_planner("torchgpipe"), problem);
    double smallest = std::numeric_limits<double>::infinity();
    double largest = 0;
    for (const PlanStage& stage : plan.stages) {
      double sum = 0;
      for (const std::int32_t k : stage.layers) {
        sum += static_cast<double>(layers[static_cast<std::size_t>(k)].total_ns() - least->total_ns()) /
               static_cast<double>(most->total_ns() - least->total_ns());
      }
      smallest = std::min(smallest, sum);
      largest = std::max(largest, sum);
    }
    CHECK(largest <= smallest + 1 + 1e-9);
    CHECK(plan.lower_bound_ns <= plan.claimed_ns);
  }
}

TEST_CASE("hetpipe's plans are the best over all cuts and all orders of unlike devices") {
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    CAPTURE(seed);
    PlanProblem problem = flat_problem(random_layers(seed, 7), 4);
    problem.speed = {1, 0.5, 1, 0.25};
    const LayerChain chain = chain_of(problem.network.layers);
    double best = std::numeric_limits<double>::infinity();
    std::vector<std::size_t> order{0, 1, 2, 3};
    do {
      for (std::size_t stages = 1; stages <= 4; ++stages) {
        for_each_cut(chain.size(), stages, [&](const std::vector<std::size_t>& bounds) {
          double slowest = 0;
          for (std::size_t s = 0; s < stages; ++s) {
            slowest =
                std::max(slowest, static_cast<double>(chain.total(bounds[s], bounds[s + 1])) / problem.speed[order[s]] +
                                      2 * static_cast<double>(chain.cut_bytes[bounds[s]]));
          }
          best = std::min(best, slowest);
        });
      }
    } while (std::next_permutation(order.begin(), order.end()));
    CHECK(make_plan(find_planner("hetpipe"), problem).claimed_ns == doctest::Approx(best));
  }
}

TEST_CASE("alpa's plans are the best over all cuts and meshes that use every device") {
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    CAPTURE(seed);
    PlanProblem problem = flat_problem(random_layers(seed, 6), 4);
    problem.microbatches = 5;
    const LayerChain chain = chain_of(problem.network.layers);
    double best = std::numeric_limits<double>::infinity();
    const auto stage = [&](std::size_t begin, std::size_t end, int devices) {
      return static_cast<double>(chain.total(begin, end)) / devices +
             2.0 * (devices - 1) / devices * static_cast<double>(chain.parameters(begin, end)) / 5;
    };
    const std::function<void(std::size_t, int, double, double)> extend = [&](std::size_t begin, int left, double sum,
                                                                             double slowest) {
      if (begin == chain.size() && left == 0) best = std::min(best, sum + 4 * slowest);
      for (std::size_t end = begin + 1; end <= chain.size(); ++end) {
        for (const int devices : {1, 2, 4}) {
          if (devices > left) continue;
          const double own = stage(begin, end, devices);
          extend(end, left - devices, sum + own, std::max(slowest, own));
        }
      }
    };
    extend(0, 4, 0, 0);
    CHECK(make_plan(find_planner("alpa"), problem).claimed_ns == doctest::Approx(best));
  }
}

TEST_CASE("2bw's plan is the best width and depth, and recomputes where memory asks for it") {
  PlanProblem problem = flat_problem(random_layers(3, 12), 4, 1e12);
  const Plan roomy = make_plan(find_planner("pipedream-2bw"), problem);
  CHECK(roomy.num_devices() == 4);
  CHECK(roomy.claimed_ns == roomy.lower_bound_ns);
  const LayerChain chain = chain_of(problem.network.layers);
  problem.memory_bytes = 2 * chain.parameter_bytes.back() / 4 + chain.activation_bytes.back();
  const Plan tight = make_plan(find_planner("pipedream-2bw"), problem);
  CHECK(tight.claimed_ns >= roomy.claimed_ns);
  problem.memory_bytes = 1;
  CHECK(error_message([&] { make_plan(find_planner("pipedream-2bw"), problem); }) ==
        "pipedream-2bw: no width and depth fit into the memory of the devices");
}

TEST_CASE("dapple places stages on distinct devices and is at least as good as data parallelism by its formula") {
  PlanProblem problem = flat_problem(random_layers(5, 8), 4, 4e9);
  problem.levels.push_back({2, 5e8});
  const Plan plan = make_plan(find_planner("dapple"), problem);
  std::vector<std::int32_t> devices;
  for (const PlanStage& stage : plan.stages) devices.insert(devices.end(), stage.devices.begin(), stage.devices.end());
  std::sort(devices.begin(), devices.end());
  CHECK(devices == std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7});
  const LayerChain chain = chain_of(problem.network.layers);
  const double all_reduce = 2.0 * 7 / 8 * static_cast<double>(chain.parameter_bytes.back()) * 2;
  CHECK(plan.claimed_ns <= 8 * static_cast<double>(chain.total(0, chain.size())) / 8 + all_reduce + 1);
}

TEST_CASE("slicegraph's plan of a chain is the best cut of it") {
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    CAPTURE(seed);
    const PlanProblem problem = flat_problem(random_layers(seed, 8), 3);
    const LayerChain chain = chain_of(problem.network.layers);
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t stages = 1; stages <= 3; ++stages) {
      for_each_cut(chain.size(), stages, [&](const std::vector<std::size_t>& bounds) {
        double slowest = 0;
        for (std::size_t s = 0; s < stages; ++s) {
          slowest = std::max(slowest, static_cast<double>(chain.total(bounds[s], bounds[s + 1]) +
                                                          chain.cut_bytes[bounds[s]] + chain.cut_bytes[bounds[s + 1]]));
        }
        best = std::min(best, slowest);
      });
    }
    CHECK(make_plan(find_planner("slicegraph"), problem).claimed_ns == doctest::Approx(best));
  }
}

TEST_CASE("slicegraph's blocks cost what their definition says on graphs that branch") {
  PlanProblem problem = flat_problem(random_layers(2, 12, 8), 3);
  problem.options["generations"] = "4";
  const Plan plan = make_plan(find_planner("slicegraph"), problem);
  const LayerGraph& graph = problem.network.layers;
  std::vector<std::size_t> block(graph.size());
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    for (const std::int32_t k : plan.stages[s].layers) block[static_cast<std::size_t>(k)] = s;
  }
  double slowest = 0;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    double cost = 0;
    for (std::size_t k = 0; k < graph.size(); ++k) {
      bool crosses = false;
      for (const LayerEdge& edge : graph.edges) {
        if (edge.from != static_cast<std::int32_t>(k)) continue;
        const std::size_t to = block[static_cast<std::size_t>(edge.to)];
        crosses = crosses || (block[k] == s && to != s) || (block[k] != s && to == s);
      }
      if (block[k] == s) cost += static_cast<double>(graph.nodes[k].total_ns());
      if (crosses) cost += static_cast<double>(graph.nodes[k].output_bytes);
    }
    slowest = std::max(slowest, cost);
  }
  CHECK(plan.claimed_ns == doctest::Approx(slowest));
}
