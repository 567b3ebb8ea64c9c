#include "sim/plan_search/cut_units.hpp"

#include <algorithm>
#include <random>
#include <set>
#include <string_view>

#include <doctest/doctest.h>

#include "sim/plan_search/plan_search.hpp"
#include "sim/plan_search/prices/job_pricing.hpp"
#include "tests/support/every_plan.hpp"
#include "tests/support/profiled_network.hpp"

TEST_SUITE_BEGIN("plan search");

namespace {

using namespace plumb;
using plumb::testing::fastest_of_all;
using plumb::testing::profiled_network;

Network network_of(std::mt19937& random, std::size_t layers) {
  const auto between = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  return profiled_network("random", layers, [&](std::size_t) {
    return ProfiledFigures{.f_ns = between(100, 2000),
                           .i_ns = between(100, 2000),
                           .w_ns = between(0, 2000),
                           .parameter_bytes = between(1, 50) * 4000,
                           .output_bytes = between(1, 50) * 1000,
                           .kept_for_input_grad_bytes = between(0, 20) * 1000,
                           .kept_for_weight_grad_bytes = between(0, 20) * 1000};
  });
}

Cluster cluster_of(std::mt19937& random) {
  Cluster cluster;
  cluster.name = "random";
  cluster.devices_per_node = 2;
  for (int d = 0; d < 4; ++d) {
    cluster.devices.push_back({.name = "device",
                               .flops_per_s = 1e12,
                               .memory_bytes_per_s = 1e12,
                               .memory_bytes = random() % 2 == 0 ? 5'000'000 : 2'400'000,
                               .speed = random() % 2 == 0 ? 1.0 : 0.625});
  }
  cluster.intra_node = {.latency_ns = 50, .bytes_per_s = 1e12};
  cluster.inter_node = {.latency_ns = 500, .bytes_per_s = 5e10};
  cluster.finish();
  return cluster;
}

/// Some layers at which stages may begin, the first and the end among them.
std::vector<std::size_t> random_units(std::mt19937& random, std::size_t layers) {
  std::vector<std::size_t> units{0};
  for (std::size_t k = 1; k < layers; ++k) {
    if (random() % 3 != 0) units.push_back(k);
  }
  units.push_back(layers);
  return units;
}

}  // namespace

TEST_CASE("cut at units only, and run as each system does, the answer is the best of all plans, and proved") {
  int answered = 0;
  const std::vector<std::vector<std::string>> schedules{
      {"1f1b", "interleaved"}, {"1f1b", "zb-h1", "zb-v", "dualpipev"}, {"1f1b"}, {"1f1b", "interleaved", "zb-v"}};
  const std::vector<std::string_view> runtimes{"megatron", "pytorch", "deepspeed", ""};
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const Network network = network_of(random, 4 + seed % 4);
    const Cluster cluster = cluster_of(random);
    const std::size_t which = seed % runtimes.size();
    PlanJob job{.num_layers = network.layers.size(), .num_devices = 4, .batch = 1 + seed % 4};
    job.price = job_pricing(network, cluster, std::nullopt, {.runtime = runtimes[which]});
    job.units = random_units(random, network.layers.size());
    job.in_order = !runtimes[which].empty();
    PlanRanges ranges{.parallelisms = {Parallelism{.microbatch_size = 1}}, .places = {1, 2, 3}, .chunks = {2}};
    ranges.schedules = schedules[which];
    const std::int64_t fastest = fastest_of_all(job_of_units(job), ranges);
    const PlanAnswer answer = search_plan(job, ranges, {.most_exact = 100'000});
    REQUIRE(answer.best.empty() == (fastest == 0));
    CHECK(answer.exhausted);
    if (answer.best.empty()) continue;
    ++answered;
    const ScoredPlan& best = answer.best.front();
    CHECK(best.step_ns == fastest);
    CHECK(answer.bound_ns == fastest);
    CHECK(simulate_plan(best.plan, job.price).score.step_ns == fastest);
    CHECK(in_units(best.plan.partition, job.units).has_value());
  }
  CHECK(answered >= 6);
}

TEST_CASE("where a system has one cut only, every plan has it") {
  std::mt19937 random(5);
  const Network network = network_of(random, 6);
  Cluster cluster = cluster_of(random);
  for (DeviceSpec& device : cluster.devices) device.memory_bytes = 50'000'000;
  PlanJob job{.num_layers = 6, .num_devices = 4, .batch = 4};
  job.price = job_pricing(network, cluster, std::nullopt, {});
  job.in_order = true;
  job.only_cut = [](std::size_t stages) -> std::optional<Partition> {
    return stages == 2 ? std::optional(Partition{{0, 3, 6}}) : std::nullopt;
  };
  const PlanRanges ranges{.parallelisms = {Parallelism{.microbatch_size = 1}},
                          .places = {1, 2, 3},
                          .chunks = {2},
                          .schedules = {"1f1b", "gpipe"}};
  const PlanAnswer answer = search_plan(job, ranges, {});
  REQUIRE(!answer.best.empty());
  CHECK(answer.exhausted);
  for (const ScoredPlan& score : answer.best) CHECK(score.plan.partition.bounds == std::vector<std::size_t>{0, 3, 6});
}

TEST_CASE("a schedule that the system cannot run at a size is not tried there") {
  std::mt19937 random(5);
  const Network network = network_of(random, 8);
  Cluster cluster = cluster_of(random);
  for (DeviceSpec& device : cluster.devices) device.memory_bytes = 50'000'000;
  PlanJob job{.num_layers = 8, .num_devices = 4, .batch = 2};
  job.price = job_pricing(network, cluster, std::nullopt, {});
  const PlanRanges ranges{.parallelisms = {Parallelism{.microbatch_size = 1}},
                          .places = {2, 4},
                          .chunks = {2},
                          .schedules = {"1f1b", "interleaved"}};
  const PlanEffort all{.keep = 100};
  const auto interleaved_places = [&] {
    std::set<std::int32_t> places;
    for (const ScoredPlan& score : search_plan(job, ranges, all).best) {
      if (score.plan.schedule == "interleaved") places.insert(score.plan.places);
    }
    return places;
  };
  CHECK(interleaved_places() == std::set<std::int32_t>{2, 4});
  job.runs = [](std::string_view schedule, const Parallelism&, std::int32_t places, std::int64_t microbatches) {
    return schedule != "interleaved" || microbatches % places == 0;
  };
  CHECK(interleaved_places() == std::set<std::int32_t>{2});  // two microbatches are no whole round of four devices
}

TEST_CASE("stages in units and in layers are each other's reverse; a stage inside a unit is none") {
  const std::vector<std::size_t> units{0, 1, 3, 5, 6};
  CHECK(in_layers(Partition{{0, 2, 4}}, units) == Partition{{0, 3, 6}});
  CHECK(in_units(Partition{{0, 3, 6}}, units) == Partition{{0, 2, 4}});
  CHECK_FALSE(in_units(Partition{{0, 2, 6}}, units).has_value());
}

TEST_CASE("more stages of a place are tried only where all of them can have the same number of layers") {
  const auto variants = schedule_variants({.chunks = {2}, .even_chunks = {5}, .schedules = {"interleaved", "1f1b"}});
  REQUIRE(variants.size() == 3);
  CHECK(variants[0].is_tried(8, 82));
  CHECK_FALSE(variants[0].is_tried(1, 82));   // nothing to interleave
  CHECK(variants[1].is_tried(8, 82));         // 80 decoder layers on 40 stages
  CHECK_FALSE(variants[1].is_tried(6, 82));   // 30 stages
  CHECK_FALSE(variants[1].is_tried(32, 82));  // 160 stages
  CHECK(variants[2].is_tried(1, 82));
}

TEST_CASE("schedules whose stages go round are tried on one place where no schedule with one stage is") {
  for (const ScheduleVariant& alone : schedule_variants({.chunks = {2}, .schedules = {"gis"}})) {
    CHECK(alone.is_tried(1, 82));
  }
  for (const ScheduleVariant& beside : schedule_variants({.chunks = {2}, .schedules = {"gis", "zb-h1"}})) {
    CHECK(beside.is_tried(1, 82) == (beside.spec->name == "zb-h1"));
  }
}

TEST_SUITE_END();
