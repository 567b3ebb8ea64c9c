#include "sim/plan_search/planner_seeds.hpp"
#include "sim/plan_search/prices/network_prices.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>

#include "models/ground/error.hpp"
#include "models/import/published_network.hpp"
#include "sim/plan_search/bounds/plan_bounds.hpp"
#include "sim/plan_search/placed_schedule.hpp"
#include "sim/plan_search/plan_kinds.hpp"
#include "sim/plan_search/plan_search.hpp"
#include "sim/plan_search/prices/job_pricing.hpp"
#include "sim/plan_search/seed_scores.hpp"
#include "sim/planners/planner.hpp"
#include "tests/support/random_layers.hpp"
#include "tests/support/source_directory.hpp"

TEST_SUITE_BEGIN("plan search");

namespace {

using namespace plumb;
using namespace plumb::testing;

Cluster small_cluster(std::int32_t nodes, std::int32_t per_node) {
  Cluster cluster;
  cluster.name = "small";
  cluster.devices_per_node = per_node;
  cluster.devices.assign(
      static_cast<std::size_t>(nodes * per_node),
      {.name = "device", .flops_per_s = 15e12, .memory_bytes_per_s = 900e9, .memory_bytes = 64'000'000'000});
  cluster.intra_node = {.latency_ns = 5000, .bytes_per_s = 12e9};
  cluster.inter_node = {.latency_ns = 20000, .bytes_per_s = 1.25e9};
  cluster.finish();
  return cluster;
}

PlanJob job_on(const Network& network, const Cluster& cluster, std::int64_t microbatches) {
  return {.num_layers = network.layers.size(),
          .num_devices = static_cast<std::int64_t>(cluster.devices.size()),
          .batch = microbatches * network.samples,
          .price = job_pricing(network, cluster, std::nullopt, {})};
}

PlanRanges ranges_of(const Network& network, std::int32_t places) {
  PlanRanges ranges{.parallelisms = {Parallelism{.microbatch_size = network.samples}}, .places = {}, .chunks = {2}};
  for (std::int32_t p = 1; p <= places; ++p) ranges.places.push_back(p);
  ranges.schedules = {"1f1b", "dapple"};
  ranges.replicated = true;
  return ranges;
}

}  // namespace

TEST_CASE("plans are said as runs of layers on holders; what is no run, or stands on a CPU, is not") {
  const LayerChain chain = chain_of(random_layers(1, 5));
  Plan plan;
  plan.stages = {{.layers = {0, 1, 2}, .replicas = 2, .devices = {}}, {.layers = {3, 4}, .replicas = 1, .devices = {}}};
  const PipelinePlan base{.microbatches = 8};
  std::vector<PipelinePlan> said = expressed(plan, chain, base);
  REQUIRE(said.size() == 1);
  CHECK(said[0].partition == Partition{{0, 3, 5}});
  CHECK(said[0].replicas == std::vector<std::int32_t>{2, 1});
  CHECK(said[0].places == 3);
  CHECK(said[0].schedule == "dapple");
  plan.stages[0].replicas = 1;
  plan.stages[0].devices = {3};
  plan.stages[1].devices = {1};
  said = expressed(plan, chain, base);
  REQUIRE(said.size() == 1);
  CHECK(said[0].replicas.empty());
  CHECK(said[0].schedule == "1f1b");
  CHECK(said[0].order == std::vector<std::int32_t>{3, 1});
  plan.pipelines = 2;  // two ways to lay out: a stage's copies side by side, or a pipeline's stages
  said = expressed(plan, chain, base);
  REQUIRE(said.size() == 2);
  CHECK(said[0].order == std::vector<std::int32_t>{0, 1, 2, 3});
  CHECK(said[1].order == std::vector<std::int32_t>{0, 2, 1, 3});
  plan.stages[1].on_cpu = true;
  CHECK(expressed(plan, chain, base).empty());
  plan.stages = {{.layers = {0, 1, 2, 3, 4}, .replicas = 4, .devices = {}}};  // one stage: both ways are the same
  plan.pipelines = 1;
  said = expressed(plan, chain, base);
  REQUIRE(said.size() == 1);
  CHECK(said[0].order == std::vector<std::int32_t>{0, 1, 2, 3});
  plan.microbatches = 8;  // a stage whose holders have shares of their own: those with a share are copies
  for (const std::vector<std::int64_t>& shares :
       {std::vector<std::int64_t>{4, 1, 0, 3}, std::vector<std::int64_t>{1, 1, 1, 5},
        std::vector<std::int64_t>{0, 8, 0, 0}}) {
    plan.shares = shares;
    said = expressed(plan, chain, base);
    REQUIRE(said.size() == 1);
    std::vector<std::int64_t> given(4, 0);
    for (std::size_t copy = 0; copy < said[0].order.size(); ++copy) {
      given[static_cast<std::size_t>(said[0].order[copy])] = said[0].shares.empty() ? 8 : said[0].shares[copy];
    }
    CHECK(given == shares);
    CHECK(said[0].places == 4 - std::ranges::count(shares, 0));
  }
  plan.shares.clear();
  plan.stages = {{.layers = {0, 2}, .devices = {}}, {.layers = {1, 3, 4}, .devices = {}}};
  CHECK(expressed(plan, chain, base).empty());
}

TEST_CASE("the answer is never worse than any published planner's plan of the shipped profiles") {
  std::set<std::string> said;
  for (const char* tail : {"pipedream/alexnet/graph.txt", "pipedream/vgg16/graph.txt", "dapple/vgg-19-pbs-32.txt",
                           "dnn-partitioning/LayerGraphs/bert24_training.json", "piper/bert32a100.json"}) {
    CAPTURE(tail);
    const auto published = load_published(in_source("results/planners/inputs/" + std::string(tail)));
    REQUIRE(published);
    const Network network = network_of(published->layers);
    const PlanJob job = job_on(network, small_cluster(2, 2), 12);
    const PlanRanges ranges = ranges_of(network, 4);
    std::vector<PipelinePlan> seeds;
    std::map<std::string, std::int64_t> theirs;
    for (const PlannerSeed& seed : planner_seeds(job, ranges)) {
      seeds.push_back(seed.plan);
      const ScoredPlan score = simulate_plan(seed.plan, job.price).score;
      CHECK(score.step_ns >= replicated_bound(layer_prices(job, ranges.parallelisms[0], 4, false), 12));
      if (score.fits()) theirs.emplace(seed.method, score.step_ns).first->second = score.step_ns;
      said.insert(seed.method);
    }
    const PlanAnswer answer = search_plan(job, ranges, {.most_simulations = 30, .most_exact = 10}, seeds);
    REQUIRE(!answer.best.empty());
    CHECK(answer.bound_ns <= answer.best.front().step_ns);
    for (const auto& [method, step_ns] : theirs) {
      CAPTURE(method);
      CHECK(answer.best.front().step_ns <= step_ns);
    }
  }
  for (const Planner& planner : planners()) {
    CAPTURE(planner.name);
    const bool is_never_asked = planner.asked_up_to.layers == 0;
    CHECK(said.count(std::string(planner.name)) == (is_never_asked ? 0 : 1));
  }
}

TEST_CASE("planners' answers keep to what was asked for: no replicas, no other length, no other schedule") {
  const Network network = network_of(random_layers(4, 8));
  const PlanJob job = job_on(network, small_cluster(1, 4), 8);
  PlanRanges ranges = ranges_of(network, 4);
  ranges.places = {4};
  ranges.replicated = false;
  const std::vector<PlannerSeed> seeds = planner_seeds(job, ranges);
  CHECK(!seeds.empty());
  for (const PlannerSeed& seed : seeds) {
    CHECK(seed.plan.replicas.empty());
    CHECK(seed.plan.partition.num_stages() == 4);
  }
  ranges.schedules = {"gpipe"};
  CHECK(planner_seeds(job, ranges).empty());
}

TEST_CASE("the same copies of all stages are said as data ranks, too, where these divide the batch") {
  const Network network = network_of(random_layers(4, 8));
  for (const std::int64_t microbatches : {8, 7}) {
    CAPTURE(microbatches);
    const PlanJob job = job_on(network, small_cluster(1, 4), microbatches);
    PlanRanges ranges = ranges_of(network, 4);
    ranges.parallelisms.push_back({.data = 4, .microbatch_size = network.samples});
    ranges.parallelisms.push_back({.data = 2, .microbatch_size = network.samples});
    std::set<std::int64_t> ranks;
    for (const PlannerSeed& seed : planner_seeds(job, ranges)) {
      if (seed.plan.parallelism.data == 1) continue;
      CHECK(seed.plan.replicas.empty());
      CHECK(seed.plan.schedule == "1f1b");
      CHECK(seed.plan.microbatches * seed.plan.parallelism.data == microbatches);
      CHECK(seed.plan.places == static_cast<std::int32_t>(seed.plan.partition.num_stages()));
      ranks.insert(seed.plan.parallelism.data);
    }
    CHECK(ranks.contains(4) == (microbatches == 8));
  }
}

TEST_CASE("near a plan with replicated stages a shorter step is found: holders move to where the work is") {
  LayerGraph graph = random_layers(2, 6);
  for (LayerNode& node : graph.nodes) node.parameter_bytes = node.output_bytes = 1000;
  const Network network = network_of(graph);
  PlanJob job = job_on(network, small_cluster(1, 4), 24);
  // No plan with an empty stage is asked for.
  job.price = [price = job.price](const Parallelism& parallelism, const Partition& partition, std::int32_t places,
                                  const StageChoices& choices) {
    if (std::ranges::adjacent_find(partition.bounds, std::greater_equal{}) != partition.bounds.end()) {
      throw std::logic_error("a stage without layers");
    }
    return price(parallelism, partition, places, choices);
  };
  const PipelinePlan poor{.parallelism = Parallelism{.microbatch_size = network.samples},
                          .places = 4,
                          .microbatches = 24,
                          .schedule = "dapple",
                          .partition = Partition{{0, 1, 6}},
                          .order = {0, 1, 2, 3},
                          .replicas = {3, 1}};
  const std::int64_t before = simulate_plan(poor, job.price).score.step_ns;
  const PlanTrials trials = tried_here;
  SeedSearch search(job, trials);
  const std::vector<ScoredPlan> begun = search.begin({poor, poor}, {});
  REQUIRE(begun.size() == 1);  // the same twice, and in an order that is the same
  CHECK(begun.front().step_ns == before);
  CHECK(search.go_on(3, {}).size() == 3);
  const std::vector<ScoredPlan> near = search.go_on(1000, {});
  CHECK(near.size() < 1000);  // until nothing near is better
  CHECK(std::min_element(near.begin(), near.end(), better_plan)->step_ns * 2 < before);
}

TEST_CASE("seeds are stopped by their own rule, the search by its; and by the number of simulations exactly") {
  LayerGraph graph = random_layers(2, 6);
  const Network network = network_of(graph);
  const PlanJob job = job_on(network, small_cluster(1, 4), 24);
  PlanRanges ranges{.parallelisms = {Parallelism{.microbatch_size = network.samples}}, .places = {1, 2, 3, 4}};
  ranges.replicated = true;
  const PipelinePlan seed{.parallelism = ranges.parallelisms.front(),
                          .places = 4,
                          .microbatches = 24,
                          .schedule = "dapple",
                          .partition = Partition{{0, 1, 6}},
                          .order = {0, 1, 2, 3},
                          .replicas = {3, 1}};
  PlanEffort effort{.most_simulations = 40};
  int asked = 0;
  effort.stop_seeds = [&] {
    ++asked;
    return true;
  };
  const PlanAnswer unseeded = search_plan(job, ranges, effort, {seed});
  CHECK(asked > 0);
  CHECK(unseeded.seeded > 0);  // those that bounds point at
  effort.stop_seeds = {};
  CHECK(search_plan(job, ranges, effort, {seed}).seeded > unseeded.seeded);
  effort.stop_seeds = [] { return true; };
  REQUIRE(!unseeded.best.empty());
  CHECK(planner_seeds(job, ranges, effort.stop_seeds).empty());
  effort.stop = [] { return true; };  // the time is over before anything is simulated
  CHECK(search_plan(job, ranges, effort, {seed}).seeded == unseeded.seeded);
  effort = {};
  int late = 0;
  effort.late_seeds = [&] {
    ++late;
    return std::vector<PipelinePlan>{seed};
  };
  const PlanAnswer whole = search_plan(job, ranges, effort, {});
  CHECK(!whole.exhausted);
  CHECK(late == 1);  // something is open, and nobody says that it is late
  effort.most_simulations = 5;
  search_plan(job, ranges, effort, {});
  CHECK(late == 1);
  for (const std::int64_t most : {1, 7, 33, 50}) {
    effort = {.most_simulations = most};
    effort.stop = [] { return false; };
    const PlanAnswer answer = search_plan(job, ranges, effort, {seed});
    CHECK(answer.seeded >= 1);
    CHECK(answer.simulated - answer.seeded <= most);
    effort.stop_seeds = [] { return false; };  // by default the search's own
    CHECK(search_plan(job, ranges, effort, {seed}).simulated == answer.simulated);
  }
}

TEST_SUITE_END();
