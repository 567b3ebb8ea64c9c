#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "models/graphs/layer_chain.hpp"
#include "models/ground/error.hpp"
#include "sim/planners/chain_stages.hpp"
#include "sim/planners/ordered_stages.hpp"
#include "sim/planners/planner.hpp"
#include "sim/planners/step_time.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/random_layers.hpp"

TEST_SUITE_BEGIN("sim");

// What planners find, with every option, against all that there is to choose from.

namespace plumb::testing {
namespace {

constexpr double kNoPlan = std::numeric_limits<double>::infinity();
constexpr double kWide = 4e9;    ///< bytes per second inside a node
constexpr double kNarrow = 1e9;  ///< and between nodes

using CutVisit = std::function<void(const std::vector<std::size_t>&)>;

/// Every cut of layers [0, n) into `stages` that are not empty.
void every_cut(std::size_t n, std::size_t stages, const CutVisit& visit, std::vector<std::size_t> bounds = {0}) {
  if (bounds.size() == stages) {
    bounds.push_back(n);
    visit(bounds);
    return;
  }
  for (std::size_t next = bounds.back() + 1; next + (stages - bounds.size()) <= n; ++next) {
    bounds.push_back(next);
    every_cut(n, stages, visit, bounds);
    bounds.pop_back();
  }
}

PlanProblem in_nodes(std::uint32_t seed, std::size_t layers, std::int32_t nodes, std::int32_t per_node) {
  PlanProblem problem = flat_problem(random_layers(seed, layers), per_node, kWide);
  problem.levels.push_back({nodes, kNarrow});
  problem.microbatches = 6;
  return problem;
}

double around_ring(double bytes, std::int32_t devices, double rate) {
  return 2e9 * bytes * (devices - 1) / devices / rate;
}

double claimed_by(const char* method, const PlanProblem& problem) {
  try {
    return make_plan(find_planner(method), problem).claimed_ns;
  } catch (const Error&) {
    return kNoPlan;
  }
}

double as_double(std::int64_t number) { return static_cast<double>(number); }

}  // namespace

TEST_CASE("a step of 1F1B is the longest chain of its recursion, and the pivot formula its three parts") {
  std::mt19937 random(61);
  const auto draw = [&](int most) { return static_cast<double>(random() % static_cast<unsigned>(most + 1)); };
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    PipelineStages pipeline;
    const std::size_t n = 1 + static_cast<std::size_t>(draw(4));
    const auto m = static_cast<std::size_t>(1 + draw(6));
    for (std::size_t x = 0; x < n; ++x) pipeline.stages.push_back({1 + draw(8), 1 + draw(8), draw(20)});
    std::vector<double> forward(n * m, 0);  // ends, by stage and microbatch: raised until nothing waits any longer
    std::vector<double> backward(n * m, 0);
    double step = 0;
    for (std::size_t pass = 0; pass < 2 * n * m; ++pass) {
      for (std::size_t x = 0; x < n; ++x) {
        for (std::size_t i = 0; i < m; ++i) {
          double start = i > 0 ? forward[x * m + i - 1] : 0;
          if (x > 0) start = std::max(start, forward[(x - 1) * m + i]);
          if (i + x >= n) start = std::max(start, backward[x * m + i + x - n]);
          forward[x * m + i] = start + pipeline.stages[x].forward_ns;
          start = forward[x * m + std::min(i + n - x - 1, m - 1)];
          if (i > 0) start = std::max(start, backward[x * m + i - 1]);
          if (x + 1 < n) start = std::max(start, backward[(x + 1) * m + i]);
          backward[x * m + i] = start + pipeline.stages[x].backward_ns;
          step = std::max(step, backward[x * m + i] + pipeline.stages[x].all_reduce_ns);
        }
      }
    }
    CHECK(one_f_one_b_step_ns(pipeline, static_cast<std::int64_t>(m)) == step);
    // Of all stages from the last to the first the pivot is one that hides what lies between it and the pivot so far.
    const auto both = [&](std::size_t s) { return pipeline.stages[s].forward_ns + pipeline.stages[s].backward_ns; };
    const double turns = static_cast<double>(m) - 1;
    std::size_t pivot = n - 1;
    for (std::size_t s = n; s-- > 0;) {
      double between = 0;
      for (std::size_t a = s + 1; a < pivot; ++a) between += both(a);
      if (s < pivot && turns * both(s) > turns * both(pivot) + between) pivot = s;
    }
    double warm_up = 0;
    for (std::size_t s = 0; s <= pivot; ++s) warm_up += pipeline.stages[s].forward_ns;
    double end = 0;
    for (std::size_t s = 0; s < n; ++s) {
      double backwards = 0;
      for (std::size_t a = std::min(s, pivot); a <= std::max(s, pivot); ++a)
        backwards += pipeline.stages[a].backward_ns;
      end = std::max(end, pipeline.stages[s].all_reduce_ns + (s <= pivot ? backwards : -backwards));
    }
    const PivotLatency latency = pivot_latency(pipeline, static_cast<std::int64_t>(m));
    CHECK(latency.pivot == pivot);
    CHECK(latency.latency_ns == warm_up + turns * both(pivot) + end);
  }
}

TEST_CASE("alpa finds the best stages on meshes inside nodes and of whole nodes, and keeps to memory") {
  int limited = 0;
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    PlanProblem problem = in_nodes(seed, 4, seed % 2 == 0 ? 3 : 2, 2);
    const LayerChain chain = chain_of(problem.network.layers);
    if (seed % 3 > 0) problem.memory_bytes = chain.parameters(0, 4) * (seed % 3 == 1 ? 2 : 3);
    const std::int32_t all = problem.num_devices();
    double best = kNoPlan;
    for (std::size_t stages = 1; stages <= 4; ++stages) {
      every_cut(4, stages, [&](const std::vector<std::size_t>& bounds) {
        std::vector<std::int32_t> meshes(stages, 1);
        for (;;) {
          double sum = 0;
          double slowest = 0;
          bool fits = true;
          for (std::size_t s = 0; s < stages; ++s) {
            const std::int32_t d = meshes[s];
            fits = fits && (d == 1 || d % 2 == 0);
            const double weights = as_double(chain.parameters(bounds[s], bounds[s + 1]));
            const double kept = as_double(chain.activations(bounds[s], bounds[s + 1])) / d;
            fits = fits && (problem.memory_bytes == 0 ||
                            4 * weights + as_double(static_cast<std::int64_t>(stages - s)) * kept <=
                                as_double(problem.memory_bytes));
            const double own = as_double(chain.total(bounds[s], bounds[s + 1])) / d +
                               (d == 1 ? 0 : around_ring(weights, d, d <= 2 ? kWide : kNarrow)) / 6;
            sum += own;
            slowest = std::max(slowest, own);
          }
          if (fits && std::accumulate(meshes.begin(), meshes.end(), 0) == all) best = std::min(best, sum + 5 * slowest);
          std::size_t s = 0;
          while (s < stages && ++meshes[s] > all) meshes[s++] = 1;
          if (s == stages) break;
        }
      });
    }
    limited += best == kNoPlan ? 1 : 0;
    const double claim = claimed_by("alpa", problem);
    CHECK((claim == kNoPlan ? best == kNoPlan : claim == doctest::Approx(best)));
  }
  CHECK(limited < 8);
}

TEST_CASE("alpa's groups cut where the fewest bytes go over, with no group much longer than the average") {
  PlanProblem problem = flat_problem(random_layers(3, 7), 4);
  const LayerChain chain = chain_of(problem.network.layers);
  for (const std::size_t groups : {1, 2, 3, 5}) {
    problem.options = {{"groups", std::to_string(groups)}};
    const Plan plan = make_plan(find_planner("alpa"), problem);
    CHECK(plan.states == static_cast<std::int64_t>(groups));
    double longest_layer = 0;
    for (std::size_t k = 0; k < 7; ++k) longest_layer = std::max(longest_layer, as_double(chain.total(k, k + 1)));
    double allowed =
        std::max(longest_layer, 1.5 * as_double(chain.total(0, 7)) / as_double(static_cast<std::int64_t>(groups)));
    double fewest = kNoPlan;
    for (; fewest == kNoPlan; allowed *= 1.25) {
      every_cut(7, groups, [&](const std::vector<std::size_t>& bounds) {
        double bytes = 0;
        for (std::size_t g = 0; g < groups; ++g) {
          if (as_double(chain.total(bounds[g], bounds[g + 1])) > allowed) return;
          bytes = std::max(bytes, as_double(chain.cut_bytes[bounds[g]]));
        }
        fewest = std::min(fewest, bytes);
      });
    }
    for (const PlanStage& stage : plan.stages) {
      CHECK(as_double(chain.cut_bytes[static_cast<std::size_t>(stage.layers.front())]) <= fewest);
    }
  }
  for (const char* groups : {"0", "25"}) {
    problem.options = {{"groups", groups}};
    CHECK(error_message([&] { make_plan(find_planner("alpa"), problem); }) ==
          "option groups: expected a whole number from 1 to 24, found '" + std::string(groups) + "'");
  }
}

TEST_CASE("hetpipe's workers are nodes, or a device of every node; the slowest of the best of each is its plan") {
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    for (const bool by_node : {false, true}) {
      CAPTURE(seed);
      CAPTURE(by_node);
      PlanProblem problem = in_nodes(seed, 5, 2, 3);
      problem.speed = {1, 0.5, 1, 0.25, 1, 0.5};
      const LayerChain chain = chain_of(problem.network.layers);
      if (seed % 3 > 0) problem.memory_bytes = 2 * chain.parameters(0, 5) * (seed % 3) / 3 + chain.activations(0, 5);
      if (by_node) problem.options["policy"] = "node";
      if (seed % 2 == 0) problem.options["concurrent"] = "2";
      double slowest = 0;
      for (std::int32_t worker = 0; worker < (by_node ? 2 : 3); ++worker) {
        std::vector<std::int32_t> devices;
        for (std::int32_t d = 0; d < 6; ++d) {
          if ((by_node ? d / 3 : d % 3) == worker) devices.push_back(d);
        }
        const double in_flight = seed % 2 == 0 ? 2 : static_cast<double>(devices.size());
        double best = kNoPlan;
        do {
          for (std::size_t stages = 1; stages <= devices.size(); ++stages) {
            every_cut(5, stages, [&](const std::vector<std::size_t>& bounds) {
              double largest = 0;
              for (std::size_t s = 0; s < stages; ++s) {
                const double transfer = 2e9 * as_double(chain.cut_bytes[bounds[s]]) / (by_node ? kWide : kNarrow);
                const double total = as_double(chain.total(bounds[s], bounds[s + 1]));
                largest = std::max(largest, total / problem.speed_of(devices[s]) + transfer);
                const double bytes = 2 * as_double(chain.parameters(bounds[s], bounds[s + 1])) +
                                     in_flight * as_double(chain.activations(bounds[s], bounds[s + 1]));
                if (problem.memory_bytes > 0 && bytes > as_double(problem.memory_bytes)) largest = kNoPlan;
              }
              best = std::min(best, largest);
            });
          }
        } while (std::next_permutation(devices.begin(), devices.end()));
        slowest = std::max(slowest, best);
      }
      const double claim = claimed_by("hetpipe", problem);
      CHECK((claim == kNoPlan ? slowest == kNoPlan : claim == doctest::Approx(slowest)));
      if (claim == kNoPlan) continue;
      const Plan plan = make_plan(find_planner("hetpipe"), problem);
      CHECK(plan.pipelines == (by_node ? 2 : 3));
      REQUIRE(plan.remarks.size() == 1);
      CHECK(plan.remarks[0] == "the slowest of " + std::to_string(plan.pipelines) + " virtual workers");
      for (std::size_t s = 0; s < plan.stages.size(); ++s) {
        CHECK(plan.stages[s].load_ns <= plan.claimed_ns);
        for (std::size_t t = 0; t < s; ++t) CHECK(plan.stages[s].devices != plan.stages[t].devices);
      }
    }
  }
  PlanProblem problem = flat_problem(random_layers(1, 3), 2);
  problem.options["policy"] = "other";
  CHECK(error_message([&] { make_plan(find_planner("hetpipe"), problem); }) ==
        "option policy: expected node or equal, found 'other'");
}

TEST_CASE("2bw takes the width, the depth and recompute that give the fastest microbatch of those that fit") {
  int refused = 0;
  int recomputes = 0;
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    PlanProblem problem = in_nodes(seed, 5, 2, 2);
    problem.microbatches = 1 + seed % 7;
    const LayerChain chain = chain_of(problem.network.layers);
    if (seed % 2 == 0) problem.memory_bytes = chain.parameters(0, 5) / 2 + chain.activations(0, 5) * (seed % 12) / 4;
    double best = kNoPlan;
    bool again = false;
    for (const std::int32_t depth : {1, 2, 4}) {
      for (const bool recompute : {false, true}) {
        const std::int32_t width = 4 / depth;
        double slowest = 0;
        for (std::int32_t s = 0; s < depth; ++s) {
          const auto begin = static_cast<std::size_t>(5 * s / depth);
          const auto end = static_cast<std::size_t>(5 * (s + 1) / depth);
          double time = as_double(chain.total(begin, end)) * (recompute ? 4.0 / 3 : 1);
          if (depth > 1)
            time += 2e9 * as_double(chain.cut_bytes[begin] + chain.cut_bytes[end]) / (depth == 2 ? kWide : kNarrow);
          const double sync = width == 1 ? 0 : around_ring(as_double(chain.parameters(begin, end)), width, kNarrow);
          const double turns = std::max(1.0, static_cast<double>(problem.microbatches) / width);
          slowest = std::max({slowest, time, sync / turns});
        }
        const double kept = as_double(chain.activations(0, 5));
        const double input = as_double(*std::ranges::max_element(chain.cut_bytes));
        const double bytes =
            2 * as_double(chain.parameters(0, 5)) / depth + (recompute ? kept / depth : kept) + depth * input;
        if (problem.memory_bytes > 0 && bytes > as_double(problem.memory_bytes)) continue;
        if (slowest / width < best) again = recompute;
        best = std::min(best, slowest / width);
      }
    }
    const double claim = claimed_by("pipedream-2bw", problem);
    CHECK((claim == kNoPlan ? best == kNoPlan : claim == doctest::Approx(best)));
    refused += claim == kNoPlan ? 1 : 0;
    if (claim == kNoPlan) continue;
    const Plan plan = make_plan(find_planner("pipedream-2bw"), problem);
    CHECK(plan.num_devices() == 4);
    CHECK(plan.stages.front().recompute == again);
    CHECK(plan.microbatches == std::max<std::int64_t>(1, problem.microbatches / plan.pipelines));
    CHECK(plan.states == 6);
    recomputes += again ? 1 : 0;
  }
  CHECK(refused > 2);
  CHECK(recomputes > 2);
}

TEST_CASE("bapipe compares the cuts with the least largest stage or link of every length by their step") {
  int refused = 0;
  int exact = 0;
  for (std::uint32_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    PlanProblem problem = in_nodes(seed, 6, 2, 2);
    problem.speed = {1, 0.5, 1, 0.75};
    problem.microbatches = 1 + seed % 5;
    const LayerChain chain = chain_of(problem.network.layers);
    if (seed % 2 == 0) problem.memory_bytes = chain.parameters(0, 6) * (1 + seed % 3) / 2;
    double low = kNoPlan;  // of cuts that are equally good, the one with the shortest step
    double high = kNoPlan;
    for (std::size_t stages = 1; stages <= 4; ++stages) {
      double least = kNoPlan;
      std::vector<double> steps;
      every_cut(6, stages, [&](const std::vector<std::size_t>& bounds) {
        double largest = 0;
        PipelineStages timed;
        for (std::size_t s = 0; s < stages; ++s) {
          const double speed = problem.speed[s];
          const double link = s == 2 ? kNarrow : kWide;
          const double forward = as_double(chain.forward(bounds[s], bounds[s + 1])) / speed;
          const double backward = as_double(chain.backward(bounds[s], bounds[s + 1])) / speed;
          const double transfer = s == 0 ? 0 : 1e9 * as_double(chain.cut_bytes[bounds[s]]) / link;
          if (s > 0) timed.stages.push_back({transfer, transfer, 0});
          timed.stages.push_back({forward, backward, 0});
          largest = std::max({largest, forward + backward, 2 * transfer});
          const std::int64_t in_flight =
              std::min<std::int64_t>(static_cast<std::int64_t>(stages - s), problem.microbatches);
          const std::int64_t bytes =
              2 * chain.parameters(bounds[s], bounds[s + 1]) + in_flight * chain.activations(bounds[s], bounds[s + 1]);
          if (problem.memory_bytes > 0 && bytes > problem.memory_bytes) largest = kNoPlan;
        }
        if (largest == kNoPlan || largest > least) return;
        if (largest < least) steps.clear();
        least = largest;
        steps.push_back(one_f_one_b_step_ns(timed, problem.microbatches));
      });
      if (steps.empty()) continue;
      low = std::min(low, std::ranges::min(steps));
      high = std::min(high, std::ranges::max(steps));
    }
    const double claim = claimed_by("bapipe", problem);
    CHECK(claim >= low);
    CHECK(claim <= high);
    exact += low == high ? 1 : 0;
    refused += claim == kNoPlan ? 1 : 0;
  }
  CHECK(refused < 12);
  CHECK(exact > 5);
}

TEST_CASE("diffusionpipe compares the best cut of every number of stages by its bound, and tells the idle time left") {
  for (std::uint32_t seed = 1; seed <= 8; ++seed) {
    CAPTURE(seed);
    PlanProblem problem = in_nodes(seed, 5, 2, 2);
    if (seed % 2 == 0) problem.speed = {1, 1, 0.5, 0.5};
    const LayerChain chain = chain_of(problem.network.layers);
    double low = kNoPlan;  // with the shortest all-reduce of cuts that are equally good
    double high = kNoPlan;
    for (std::size_t stages = 1; stages <= 4; ++stages) {
      double least = kNoPlan;
      std::vector<double> reduces;
      every_cut(5, stages, [&](const std::vector<std::size_t>& bounds) {
        for (int code = 0; code < 256; ++code) {  // devices of up to four stages, two bits each
          double largest = 0;
          double longest = 0;
          std::int32_t first = 0;
          for (std::size_t s = 0; s < stages && first <= 4; ++s) {
            const std::int32_t count = 1 + (code >> (2 * s) & 3);
            const DeviceRun run{bounds[s], bounds[s + 1], first, count};
            first += count;
            if (first > 4) break;
            const double slow = problem.speed.empty() || first <= 2 ? 1 : 0.5;
            const double inside = run.first < 2 && first > 2 ? kNarrow : kWide;
            const double link =
                s == 0 ? 0 : 2e9 * as_double(chain.cut_bytes[run.begin]) / (run.first == 2 ? kNarrow : kWide);
            largest = std::max({largest, as_double(chain.total(run.begin, run.end)) / count / slow, link});
            longest = std::max(longest, around_ring(as_double(chain.parameters(run.begin, run.end)), count, inside));
          }
          if (first > 4 || largest > least) continue;
          if (largest < least) reduces.clear();
          least = largest;
          reduces.push_back(longest);
        }
      });
      const double steps = (6 + static_cast<double>(stages) - 1) * least;
      low = std::min(low, steps + std::ranges::min(reduces));
      high = std::min(high, steps + std::ranges::max(reduces));
    }
    const Plan plan = make_plan(find_planner("diffusionpipe"), problem);
    CHECK(plan.claimed_ns >= low * (1 - 1e-12));
    CHECK(plan.claimed_ns <= high * (1 + 1e-12));
    double largest = 0;
    double longest = 0;
    std::size_t begin = 0;
    for (const PlanStage& stage : plan.stages) {
      const std::size_t end = begin + stage.layers.size();
      const std::int32_t first = stage.devices.front();
      const double inside = first < 2 && stage.devices.back() >= 2 ? kNarrow : kWide;
      const double link = begin == 0 ? 0 : 2e9 * as_double(chain.cut_bytes[begin]) / (first == 2 ? kNarrow : kWide);
      largest = std::max({largest, stage.load_ns, link});
      longest = std::max(longest, around_ring(as_double(chain.parameters(begin, end)), stage.replicas, inside));
      begin = end;
    }
    CHECK(plan.claimed_ns == doctest::Approx((5 + static_cast<double>(plan.stages.size())) * largest + longest));
    CHECK(plan.states == 4);
    CHECK(plan.remarks.empty() == !problem.speed.empty());
    if (plan.remarks.empty()) continue;
    const double idle = (4 * plan.claimed_ns - 6 * as_double(chain.total(0, 5))) / 1e6;
    CHECK(plan.remarks[0] == "idle for frozen layers: " + std::to_string(idle) + " device-ms of a step");
  }
}

TEST_CASE("autopipe ends where no layer of the slowest stage is better with a neighbour") {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    PlanProblem problem = flat_problem(random_layers(seed, 9), 4, seed % 2 == 0 ? 1e9 : 1e12);
    problem.microbatches = 3 + seed % 4;
    const LayerChain chain = chain_of(problem.network.layers);
    const Plan plan = make_plan(find_planner("autopipe"), problem);
    std::vector<std::size_t> bounds{0};
    for (const PlanStage& stage : plan.stages) bounds.push_back(bounds.back() + stage.layers.size());
    const auto step = [&](const std::vector<std::size_t>& cut) {
      return one_f_one_b_step_ns(pipeline_of(chain, cut, problem, 1, false), problem.microbatches);
    };
    CHECK(plan.claimed_ns == step(bounds));
    CHECK(plan.claimed_ns <= step(balanced_bounds(chain, 4)));
    std::size_t slowest = 0;
    for (std::size_t s = 0; s < 4; ++s) {
      CHECK(plan.stages[s].load_ns == as_double(chain.total(bounds[s], bounds[s + 1])));
      if (plan.stages[s].load_ns > plan.stages[slowest].load_ns) slowest = s;
    }
    if (plan.stages[slowest].layers.size() < 2) continue;
    std::vector<std::size_t> other = bounds;
    if (slowest > 0) CHECK((++other[slowest], step(other)) >= plan.claimed_ns);
    other = bounds;
    if (slowest < 3) CHECK((--other[slowest + 1], step(other)) >= plan.claimed_ns);
  }
}

TEST_CASE(
    "varuna simulates every number of stages that divides its segments, with as many copies as there is room for") {
  for (std::uint32_t seed = 1; seed <= 8; ++seed) {
    for (const std::int64_t segments : {1, 4, 6, 9, 99}) {
      CAPTURE(seed);
      CAPTURE(segments);
      PlanProblem problem = flat_problem(random_layers(seed, 9), 4, 1e10);
      problem.microbatches = 5 + seed;
      if (segments < 99) problem.options["segments"] = std::to_string(segments);
      const std::int64_t used = std::min<std::int64_t>(segments < 99 ? segments : 8, 9);
      const LayerChain chain = chain_of(problem.network.layers);
      const std::vector<std::size_t> points = balanced_bounds(chain, static_cast<std::int32_t>(used));
      double best = kNoPlan;
      std::int64_t tried = 0;
      for (std::int64_t stages = 1; stages <= std::min<std::int64_t>(4, used); ++stages) {
        if (used % stages != 0) continue;
        ++tried;
        const auto copies = static_cast<std::int32_t>(4 / stages);
        PipelineStages pipeline;
        for (std::int64_t s = 0; s < stages; ++s) {
          const std::size_t begin = points[static_cast<std::size_t>(s * used / stages)];
          const std::size_t end = points[static_cast<std::size_t>((s + 1) * used / stages)];
          const double transfer = 1e9 * as_double(chain.cut_bytes[begin]) / 1e10;
          if (s > 0) pipeline.stages.push_back({transfer, transfer, 0});
          const double forward = as_double(chain.forward(begin, end));
          pipeline.stages.push_back({forward, forward + as_double(chain.backward(begin, end)),
                                     around_ring(as_double(chain.parameters(begin, end)), copies, 1e10)});
        }
        best = std::min(best, one_f_one_b_step_ns(pipeline, (problem.microbatches + copies - 1) / copies));
      }
      const Plan plan = make_plan(find_planner("varuna"), problem);
      CHECK(plan.claimed_ns == doctest::Approx(best));
      CHECK(plan.states == tried);
      CHECK(plan.pipelines == 4 / static_cast<std::int32_t>(plan.stages.size()));
      for (const PlanStage& stage : plan.stages) CHECK(stage.recompute);
    }
  }
  PlanProblem problem = flat_problem(random_layers(1, 9), 4);
  problem.options["segments"] = "0";
  CHECK(error_message([&] { make_plan(find_planner("varuna"), problem); }) ==
        "option segments: expected a whole number from 1 to 1e18, found '0'");
}

}  // namespace plumb::testing

TEST_SUITE_END();
