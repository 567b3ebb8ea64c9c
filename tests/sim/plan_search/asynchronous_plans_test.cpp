#include <algorithm>
#include <random>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "schedules/catalogue/registry.hpp"
#include "sim/plan_search/plan_search.hpp"
#include "sim/plan_search/prices/job_pricing.hpp"
#include "sim/plan_search/schedule_variants.hpp"
#include "sim/simulate.hpp"
#include "tests/support/every_plan.hpp"
#include "tests/support/profiled_network.hpp"

TEST_SUITE_BEGIN("plan search");

namespace {

using namespace plumb;
using plumb::testing::fastest_of_all;
using plumb::testing::profiled_network;

Network uneven_layers(std::mt19937& random, std::size_t count) {
  return profiled_network("uneven", count, [&](std::size_t) {
    const auto some = [&](std::int64_t most) { return static_cast<std::int64_t>(random() % most) + 1; };
    return ProfiledFigures{.f_ns = 100 * some(20),
                           .i_ns = 100 * some(20),
                           .w_ns = 100 * some(20),
                           .parameter_bytes = 4000 * some(50),
                           .output_bytes = 1000 * some(50),
                           .kept_for_input_grad_bytes = 1000 * some(20)};
  });
}

Cluster three_places(std::int64_t memory_bytes) {
  Cluster cluster;
  cluster.name = "three";
  cluster.devices_per_node = 3;
  cluster.devices.assign(
      3, {.name = "device", .flops_per_s = 1e12, .memory_bytes_per_s = 1e12, .memory_bytes = memory_bytes});
  cluster.devices[1].speed = 0.75;
  cluster.intra_node = {.latency_ns = 50, .bytes_per_s = 5e10};
  cluster.finish();
  return cluster;
}

PlanJob uneven_job(std::uint32_t seed, std::int64_t batch, std::int64_t memory_bytes) {
  std::mt19937 random(seed);
  const Network network = uneven_layers(random, 4);
  return {.num_layers = 4,
          .num_devices = 3,
          .batch = batch,
          .price = job_pricing(network, three_places(memory_bytes), std::nullopt, {})};
}

PlanRanges never_flushed() {
  PlanRanges ranges{.parallelisms = {Parallelism{.microbatch_size = 1}}, .places = {1, 2, 3}, .chunks = {2}};
  ranges.asynchronous = true;
  return ranges;
}

}  // namespace

TEST_CASE("with schedules that never flush the answer is the best of all plans, and proved") {
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    CAPTURE(seed);
    const PlanJob job = uneven_job(seed, 1 + seed % 4, seed % 2 == 0 ? 0 : 4'000'000);
    PlanRanges ranges = never_flushed();
    ranges.schedules = {"1f1b", "pipedream", "pipedream-2bw", "pipemare", "wpipe", "pipelined-backpropagation"};
    const std::int64_t fastest = fastest_of_all(job, ranges);
    const PlanAnswer answer = search_plan(job, ranges, {.most_exact = 100'000});
    REQUIRE(answer.best.empty() == (fastest == 0));
    CHECK(answer.exhausted);
    if (!answer.best.empty()) CHECK(answer.best.front().step_ns == fastest);
  }
}

TEST_CASE("every schedule of the catalogue that never flushes keeps to its bounds") {
  const PlanJob job = uneven_job(11, 3, 0);
  PlanRanges ranges = never_flushed();
  std::int64_t scored = 0;
  for (const ScheduleVariant& variant : schedule_variants({.chunks = {2}, .asynchronous = true})) {
    if (!variant.asynchronous) continue;
    CAPTURE(variant.spec->name);
    ranges.schedules = {std::string(variant.spec->name)};
    if (fastest_of_all(job, ranges) > 0) ++scored;
  }
  CHECK(scored >= 8);
}

TEST_CASE("without a flush a plan takes what its slowest device computes, and says how old its weights are") {
  const PlanJob job = uneven_job(3, 4, 0);
  PipelinePlan plan{.parallelism = {.microbatch_size = 1}, .places = 3, .microbatches = 4, .order = {0, 1, 2}};
  plan.partition = Partition{{0, 2, 3, 4}};  // versions are kept where most weights are
  const auto step_of = [&](const std::string& name) {
    plan.schedule = name;
    return simulate_plan(plan, job.price).score;
  };
  const ScoredPlan flushed = step_of("1f1b");
  const ScoredPlan never = step_of("pipedream");
  CHECK(never.step_ns < flushed.step_ns);
  CHECK(never.peak_bytes > flushed.peak_bytes);  // versions of the weights
  const std::vector<StageDelays> delays = plan_delays(plan, job.price);
  REQUIRE(delays.size() == 3);
  CHECK(mean_delay(delays[0].forward) > mean_delay(delays[2].forward));
  CHECK(delays[0].versions > delays[2].versions);
  plan.schedule = "1f1b";
  CHECK(plan_delays(plan, job.price).empty());
}

TEST_CASE("the step that is scored is that of many updates, but for a thirty-second") {
  for (const std::string name : {"pipedream", "pipedream-2bw", "pipemare"}) {
    for (const std::int64_t microbatches : {2, 4}) {
      CAPTURE(name);
      CAPTURE(microbatches);
      const PlanJob job = uneven_job(3, microbatches, 0);
      PipelinePlan plan{.parallelism = {.microbatch_size = 1}, .places = 3, .microbatches = microbatches};
      plan.schedule = name;
      plan.partition = Partition{{0, 1, 2, 4}};
      plan.order = {0, 1, 2};
      const PricedStages stages = job.price(plan.parallelism, plan.partition, plan.places, {});
      const Schedule schedule =
          generate(name, {.num_devices = 3, .num_microbatches = microbatches, .updates = 4000 / microbatches});
      const Timeline many = simulate_summary(schedule, stages.costs, &stages.pipeline);
      const double step_ns = static_cast<double>(many.step_time) / static_cast<double>(many.base.ticks_per_ns);
      CHECK(static_cast<double>(simulate_plan(plan, job.price).score.step_ns) ==
            doctest::Approx(step_ns).epsilon(1.0 / 32));
    }
  }
}

TEST_CASE("schedules that never flush are searched when asked for, and only those of one copy") {
  const auto names = [](const std::vector<ScheduleVariant>& variants) {
    return std::ranges::count_if(variants, &ScheduleVariant::asynchronous);
  };
  CHECK(names(schedule_variants({.chunks = {2}})) == 0);
  CHECK(names(schedule_variants({.chunks = {2}, .asynchronous = true})) >= 8);
  CHECK(names(schedule_variants({.chunks = {2}, .schedules = {"pipedream"}})) == 1);
  CHECK_THROWS_WITH_AS(schedule_variants({.chunks = {2}, .schedules = {"hetpipe"}}),
                       "schedule 'hetpipe': never flushes and has several copies of stages, expected one copy", Error);
}

TEST_SUITE_END();
