#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <sstream>
#include <string>

#include <doctest/doctest.h>

#include "models/graphs/layer_chain.hpp"
#include "sim/planners/ordered_stages.hpp"
#include "sim/planners/planner.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/random_layers.hpp"

TEST_SUITE_BEGIN("sim");

namespace {

using namespace plumb;
using namespace plumb::testing;

constexpr double kInfinite = std::numeric_limits<double>::infinity();

using Visit = std::function<void(const std::vector<DeviceRun>&)>;

/// All cuts of `layers` layers over runs of devices from the first one on.
void for_each_run(std::size_t layers, std::int32_t devices, std::vector<DeviceRun>& made, const Visit& visit) {
  const std::size_t begin = made.empty() ? 0 : made.back().end;
  const std::int32_t first = made.empty() ? 0 : made.back().first + made.back().count;
  if (begin == layers) return visit(made);
  for (std::size_t end = begin + 1; end <= layers; ++end) {
    for (std::int32_t count = 1; first + count <= devices; ++count) {
      made.push_back({begin, end, first, count});
      for_each_run(layers, devices, made, visit);
      made.pop_back();
    }
  }
}

/// Two nodes of two devices, the second node's slower.
PlanProblem two_nodes(std::uint32_t seed) {
  PlanProblem problem = flat_problem(random_layers(seed, 5), 2, 4e9);
  problem.levels.push_back({2, 1e9});
  problem.speed = {1, 1, 0.5, 0.5};
  problem.microbatches = 6;
  return problem;
}

double link_rate(std::int32_t device) { return device == 2 ? 1e9 : 4e9; }

double inside_rate(const DeviceRun& run) {
  double rate = kInfinite;
  for (std::int32_t d = run.first + 1; d < run.first + run.count; ++d) rate = std::min(rate, link_rate(d));
  return rate;
}

double slowest_speed(const DeviceRun& run) { return run.first + run.count > 2 ? 0.5 : 1; }

double ring(double bytes, const DeviceRun& run) {
  return run.count == 1 ? 0 : 2e9 * bytes * (run.count - 1) / run.count / inside_rate(run);
}

/// The least `figure` of all ways to stand in a row.
double least(const std::function<double(const std::vector<DeviceRun>&)>& figure) {
  double best = kInfinite;
  std::vector<DeviceRun> made;
  for_each_run(5, 4, made, [&](const std::vector<DeviceRun>& runs) { best = std::min(best, figure(runs)); });
  return best;
}

double claim(const char* method, const PlanProblem& problem) {
  return make_plan(find_planner(method), problem).claimed_ns;
}

}  // namespace

TEST_CASE("planners of devices in a row find the best of all cuts and runs of devices, by their own formulas") {
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    CAPTURE(seed);
    const PlanProblem problem = two_nodes(seed);
    const LayerChain chain = chain_of(problem.network.layers);
    const auto total = [&](const DeviceRun& run) { return static_cast<double>(chain.total(run.begin, run.end)); };
    const auto weights = [&](const DeviceRun& run) {
      return static_cast<double>(chain.parameters(run.begin, run.end));
    };
    const auto cut = [&](const DeviceRun& run) {
      return run.begin == 0 ? 0 : 2e9 * static_cast<double>(chain.cut_bytes[run.begin]) / link_rate(run.first);
    };
    CHECK(claim("pipe-torch", problem) == doctest::Approx(least([&](const std::vector<DeviceRun>& runs) {
            double largest = 0;
            for (const DeviceRun& run : runs) {
              const double sync = 2e9 * (run.count - 1) * weights(run) / inside_rate(run);
              const double stage = std::max(total(run) / slowest_speed(run), run.count > 1 ? sync : 0) / run.count;
              largest = std::max({largest, stage, cut(run)});
            }
            return largest;
          })));
    CHECK(claim("spp", problem) == doctest::Approx(least([&](const std::vector<DeviceRun>& runs) {
            double largest = 0;
            for (std::size_t s = 0; s < runs.size(); ++s) {
              const DeviceRun& run = runs[s];
              const std::int32_t links = s == 0 ? 1 : std::min(run.count, runs[s - 1].count);
              largest = std::max({largest, 6 * total(run) / run.count / slowest_speed(run) + ring(weights(run), run),
                                  6 * cut(run) / links});
            }
            return largest;
          })));
    CHECK(claim("diffusionpipe", problem) <= doctest::Approx(least([&](const std::vector<DeviceRun>& runs) {
            double largest = 0;
            double reduce = 0;
            for (const DeviceRun& run : runs) {
              largest = std::max({largest, total(run) / run.count / slowest_speed(run), cut(run)});
              reduce = std::max(reduce, ring(1.0 * static_cast<double>(chain.parameters(0, 5)), {0, 5, 0, 4}));
            }
            return (6 + static_cast<double>(runs.size()) - 1) * largest + reduce;
          })));
  }
}

TEST_CASE("on one device every planner of a chain has one stage with all layers, and claims what they take alone") {
  PlanProblem problem = flat_problem(random_layers(4, 6), 1, 1e9);
  problem.microbatches = 5;
  const LayerChain chain = chain_of(problem.network.layers);
  for (const Planner& planner : planners()) {
    CAPTURE(planner.name);
    const Plan plan = make_plan(planner, problem);
    std::size_t covered = 0;
    for (const PlanStage& stage : plan.stages) covered += stage.layers.size();
    CHECK(covered >= 6);
    CHECK(plan.lower_bound_ns <= plan.claimed_ns * (1 + 1e-9));
  }
  for (const char* name : {"spp", "pipe-torch", "dapple", "alpa", "pipedream"}) {
    CAPTURE(name);
    const Plan plan = make_plan(find_planner(name), problem);
    REQUIRE(plan.stages.size() == 1);
    CHECK(plan.stages[0].layers.size() == 6);
  }
  CHECK(claim("spp", problem) == doctest::Approx(5.0 * static_cast<double>(chain.total(0, 6))));
  CHECK(claim("pipe-torch", problem) == doctest::Approx(static_cast<double>(chain.total(0, 6))));
}

TEST_CASE("gpipe's cut has the least variance of all; the plan gives the root of the mean square") {
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    CAPTURE(seed);
    const PlanProblem problem = flat_problem(random_layers(seed, 7), 3);
    const LayerChain chain = chain_of(problem.network.layers);
    double best = kInfinite;
    for (std::size_t a = 1; a < 6; ++a) {
      for (std::size_t b = a + 1; b < 7; ++b) {
        double squares = 0;
        for (const auto& [begin, end] : {std::pair<std::size_t, std::size_t>{0, a}, {a, b}, {b, 7}}) {
          squares += std::pow(static_cast<double>(chain.total(begin, end)), 2);
        }
        best = std::min(best, std::sqrt(squares / 3));
      }
    }
    CHECK(claim("gpipe", problem) == doctest::Approx(best));
  }
}

TEST_CASE("bapipe shortens the pipeline where links are slow, and keeps to memory") {
  PlanProblem problem = flat_problem(random_layers(3, 8), 4, 1e12);
  problem.microbatches = 32;
  CHECK(make_plan(find_planner("bapipe"), problem).stages.size() == 4);
  problem.levels.front().bytes_per_s = 1e3;
  CHECK(make_plan(find_planner("bapipe"), problem).stages.size() == 1);
  problem.memory_bytes = 1;
  CHECK(error_message([&] { make_plan(find_planner("bapipe"), problem); }) ==
        "bapipe: no pipeline fits into the memory of the devices");
}

TEST_CASE("autopipe-dynamic gives slow devices less than the balanced cut does") {
  PlanProblem problem = flat_problem(random_layers(5, 12), 3, 1e15);
  const Plan before = make_plan(find_planner("autopipe-dynamic"), problem);
  problem.speed = {1, 0.25, 1};
  const Plan after = make_plan(find_planner("autopipe-dynamic"), problem);
  CHECK(after.stages[1].layers.size() < before.stages[1].layers.size());
  CHECK(after.claimed_ns < 4 * before.stages[1].load_ns);
  CHECK(after.claimed_ns >= claim("pipe-torch", problem) * (1 - 1e-9));  // which finds the best cut, replicas allowed
}

TEST_CASE("dynapipe's groups are the best of all groupings and limits") {
  PlanProblem problem = flat_problem(random_layers(2, 4), 3);
  problem.microbatches = 7;
  problem.options["lengths"] = "4,1,2.5,1,8,2,6";
  const Plan plan = make_plan(find_planner("dynapipe"), problem);
  std::vector<double> lengths{1, 1, 2, 2.5, 4, 6, 8};
  double unit = 0;
  for (const PlanStage& stage : plan.stages) unit = std::max(unit, stage.load_ns);
  double best = kInfinite;
  for (unsigned ends = 0; ends < 1U << 6; ++ends) {  // bit k: a group ends after sample k
    double sum = 0;
    double longest = 0;
    std::size_t begin = 0;
    for (std::size_t k = 0; k < 7; ++k) {
      if (k < 6 && (ends >> k & 1U) == 0) continue;
      const double time = unit * static_cast<double>(k + 1 - begin) * lengths[k];
      sum += time;
      longest = std::max(longest, time);
      begin = k + 1;
    }
    best = std::min(best, 2 * longest + sum);
  }
  CHECK(plan.claimed_ns == doctest::Approx(best));
  REQUIRE(plan.remarks.size() == 1);
  const std::string& remark = plan.remarks.front();
  const std::string begins = "samples per microbatch, shortest first:";
  REQUIRE(remark.starts_with(begins));
  std::istringstream counts(remark.substr(begins.size()));
  std::int64_t groups = 0;
  std::int64_t samples = 0;
  for (std::int64_t count = 0; counts >> count; ++groups) samples += count;
  CHECK(groups == plan.microbatches);
  CHECK(samples == 7);
  problem.options["lengths"] = "4,0";
  CHECK(error_message([&] { make_plan(find_planner("dynapipe"), problem); }) ==
        "option lengths: expected numbers above 0 with commas, found '4,0'");
}

TEST_CASE("galvatron: free links and memory share every layer; little memory recomputes or divides; none refuses") {
  PlanProblem problem = flat_problem(random_layers(2, 6), 4, 1e15);
  const Plan free = make_plan(find_planner("galvatron"), problem);
  const LayerChain chain = chain_of(problem.network.layers);
  CHECK(free.claimed_ns == doctest::Approx(8.0 / 4 * static_cast<double>(chain.total(0, 6))).epsilon(1e-4));
  problem.memory_bytes = 3 * chain.parameters(0, 6);  // four copies of all weights do not fit on a device
  const Plan tight = make_plan(find_planner("galvatron"), problem);
  CHECK(tight.claimed_ns >= free.claimed_ns);
  problem.memory_bytes = 1000;
  CHECK(error_message([&] { make_plan(find_planner("galvatron"), problem); }) ==
        "galvatron: the network does not fit into the memory of the devices");
}

TEST_CASE("the slowest link inside a run is the least of all links between its neighbours") {
  PlanProblem problem;
  problem.levels = {{2, 7e9}, {3, 9e9}, {2, 1e9}};  // the widest links lie in the middle
  for (std::int32_t first = 0; first < 12; ++first) {
    for (std::int32_t count = 1; first + count <= 12; ++count) {
      double slowest = kInfinite;
      for (std::int32_t d = first + 1; d < first + count; ++d) {
        slowest = std::min(slowest, bytes_per_s_before(problem, d));
      }
      CHECK(bytes_per_s_inside(problem, {.begin = 0, .end = 1, .first = first, .count = count}) == slowest);
    }
  }
}

TEST_SUITE_END();
