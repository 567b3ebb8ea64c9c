#include "sim/plan_search/plan_search.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <utility>

#include "models/cluster/cluster_io.hpp"
#include "models/ground/error.hpp"
#include "models/import/load_network.hpp"
#include "sim/plan_search/placed_schedule.hpp"
#include "sim/plan_search/plan_queue.hpp"
#include "sim/plan_search/prices/job_pricing.hpp"
#include "tests/support/every_plan.hpp"
#include "tests/support/small_plan_jobs.hpp"

TEST_SUITE_BEGIN("plan search");

namespace {

using namespace plumb;
using plumb::testing::drawn_between;
using plumb::testing::drawn_network;
using plumb::testing::fastest_of_all;
using plumb::testing::profiled_job;
using Random = std::mt19937;

Cluster random_cluster(Random& random, std::int32_t nodes, std::int32_t per_node) {
  Cluster cluster;
  cluster.name = "random";
  cluster.devices_per_node = per_node;
  for (std::int32_t d = 0; d < nodes * per_node; ++d) {
    cluster.devices.push_back({.name = "device",
                               .flops_per_s = 1e12,
                               .memory_bytes_per_s = 1e12,
                               .memory_bytes = random() % 2 == 0 ? 5'000'000 : 1'700'000,
                               .speed = random() % 2 == 0 ? 1.0 : 0.625});
  }
  cluster.intra_node = {.latency_ns = drawn_between(random, 0, 100), .bytes_per_s = 1e12};
  cluster.inter_node = {.latency_ns = drawn_between(random, 100, 1000), .bytes_per_s = 5e10};
  cluster.finish();
  return cluster;
}

const std::vector<std::string> kSchedules{"1f1b", "gpipe", "zb-h1", "zb-v", "interleaved", "chimera", "zb-1p"};

}  // namespace

TEST_CASE("when the time is over the first plan that fits is the answer, and no other is begun") {
  Random random(3);
  Cluster cluster = random_cluster(random, 1, 4);
  for (DeviceSpec& device : cluster.devices) device.memory_bytes = 0;
  const PlanJob job = profiled_job(drawn_network(random, 6), cluster, 8);
  PlanRanges ranges{.parallelisms = {Parallelism{.microbatch_size = 1}}, .places = {1, 2, 3, 4}, .chunks = {2}};
  ranges.schedules = kSchedules;
  PlanEffort effort;
  effort.stop = [] { return true; };
  const PlanAnswer answer = search_plan(job, ranges, effort);
  REQUIRE(!answer.best.empty());
  CHECK(answer.simulated <= std::max<std::int64_t>(1, std::thread::hardware_concurrency()));  // one by each thread
  CHECK(!answer.exhausted);
  CHECK(answer.bound_ns <= answer.best.front().step_ns);
}

TEST_CASE("on one place all schedules with one stage are the same, so one of them is simulated") {
  Random random(4);
  Cluster cluster = random_cluster(random, 1, 1);
  cluster.devices[0].memory_bytes = 0;
  const PlanJob job = profiled_job(drawn_network(random, 6), cluster, 8);
  PlanRanges ranges{.parallelisms = {Parallelism{.microbatch_size = 1}}, .places = {1}};
  const std::vector<std::vector<std::string>> some{{"gpipe"}, {"gpipe", "1f1b"}, {"gpipe", "1f1b", "zb-h1"}};
  for (const std::vector<std::string>& schedules : some) {
    ranges.schedules = schedules;
    const PlanAnswer answer = search_plan(job, ranges, {});
    CHECK(answer.simulated == 1);
    CHECK(answer.best.size() == 1);
    CHECK(answer.exhausted);
  }
}

TEST_CASE("choices of degrees that are not priced in time are counted, and nothing is proved about their plans") {
  constexpr std::int64_t kBatch = 5040;  // with many divisors
  const Network network = load_network("gpt-tiny");
  const Cluster cluster = load_cluster("a100-1x4");
  PlanJob job = profiled_job(network, cluster, kBatch);
  std::mutex mutex;
  std::set<std::pair<std::int64_t, std::int64_t>> priced;  // data ranks and microbatch sizes
  job.price = [&, price = job.price](const Parallelism& parallelism, const Partition& partition, std::int32_t places,
                                     const StageChoices& choices) {
    const std::lock_guard lock(mutex);
    priced.insert({parallelism.data, parallelism.microbatch_size});
    return price(parallelism, partition, places, choices);
  };
  PlanRanges ranges{.places = {1, 2}, .schedules = {"1f1b"}};
  for (const std::int64_t data : {1, 2, 4}) {
    for (std::int64_t size = 1; size <= kBatch; ++size) {
      if (kBatch % size != 0) continue;
      ranges.parallelisms.push_back({.data = data, .microbatch_size = size});
    }
  }
  const auto all = static_cast<std::size_t>(std::ranges::count_if(
      ranges.parallelisms, [](const Parallelism& each) { return kBatch % (each.data * each.microbatch_size) == 0; }));
  constexpr std::size_t kBlock = 64;
  REQUIRE(all > 2 * kBlock);
  for (const std::size_t blocks : {1U, 2U, 100U}) {
    CAPTURE(blocks);
    priced.clear();
    std::size_t asked = 0;
    PlanEffort effort{.most_simulations = 50};
    effort.stop_pricing = [&] { return ++asked >= blocks; };
    const PlanAnswer answer = search_plan(job, ranges, effort);
    const std::size_t in_time = std::min(all, blocks * kBlock);
    CHECK(priced.size() == in_time);
    CHECK(answer.unpriced == static_cast<std::int64_t>(all - in_time));
    REQUIRE(!answer.best.empty());
    CHECK(answer.bound_ns <= answer.best.front().step_ns);
    CHECK((answer.bound_ns == 0) == (in_time < all));
    CHECK((answer.cut_short || in_time == all));
    CHECK((!answer.exhausted || in_time == all));
  }
}

TEST_CASE("of plans whose schedules are searched themselves none is tried while others promise more") {
  std::vector<PlanSetup> setups;
  PlanQueue queue(setups);
  const auto push = [&](Ticks estimate, bool slow) {
    PlanCandidate candidate{.bound = 1, .estimate = estimate, .level = PlanCandidate::Level::kPlan};
    candidate.slow = slow;
    queue.push(std::move(candidate), kNoStep);
  };
  for (Ticks estimate = 1; estimate <= 40; ++estimate) push(estimate, false);
  for (const Ticks estimate : {30, 35, 35, 35, 35, 50}) push(estimate, true);
  const auto slow_ones = [](const std::vector<PlanCandidate>& batch) {
    return std::ranges::count(batch, true, &PlanCandidate::slow);
  };
  const std::vector<PlanCandidate> first = queue.take(1000, kNoStep);
  CHECK(first.size() == 33);  // 32 others, up to an estimate of 32, and the slow one of 30
  CHECK(slow_ones(first) == 1);
  CHECK(slow_ones(queue.take(1000, kNoStep)) == 3);
  CHECK(queue.take(1000, kNoStep).size() == 2);
  CHECK(queue.size() == 0);
}

TEST_CASE("on small instances the answer is the best of all plans, and proved") {
  int answered = 0;
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const Network network = drawn_network(random, static_cast<std::size_t>(drawn_between(random, 2, 5)));
    const Cluster cluster = random_cluster(random, 1 + static_cast<std::int32_t>(seed % 2), seed % 3 == 0 ? 1 : 2);
    const PlanJob job = profiled_job(network, cluster, drawn_between(random, 1, 5));
    const auto places = static_cast<std::int32_t>(cluster.devices.size());
    PlanRanges ranges{.parallelisms = {Parallelism{.microbatch_size = 1}}, .places = {}, .chunks = {2}};
    ranges.schedules = kSchedules;
    for (std::int32_t p = 1; p <= std::min(3, places); ++p) ranges.places.push_back(p);
    const std::int64_t fastest = fastest_of_all(job, ranges);
    const PlanAnswer answer = search_plan(job, ranges, {.most_exact = 100'000});
    REQUIRE(answer.best.empty() == (fastest == 0));
    CHECK(answer.exhausted);
    CHECK(answer.gap() == 0);
    if (answer.best.empty()) {
      REQUIRE(answer.closest);
      CHECK(answer.closest->excess_bytes > 0);
      continue;
    }
    ++answered;
    CHECK(answer.best.front().step_ns == fastest);
    CHECK(answer.bound_ns == fastest);
    CHECK(simulate_plan(answer.best.front().plan, job.price).score.step_ns == fastest);
  }
  CHECK(answered >= 6);   // the instances are neither all impossible ...
  CHECK(answered <= 11);  // ... nor all possible
}

TEST_CASE("without room for all cuts the bound still holds and the same input gives the same answer") {
  for (std::uint32_t seed = 21; seed <= 23; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const Network network = drawn_network(random, 6);
    const Cluster cluster = random_cluster(random, 2, 2);
    const PlanJob job = profiled_job(network, cluster, 6);
    PlanRanges ranges{.parallelisms = {Parallelism{.microbatch_size = 1}}, .places = {1, 2, 3}, .chunks = {2}};
    ranges.schedules = {"1f1b", "zb-h1"};
    const std::int64_t fastest = fastest_of_all(job, ranges);
    const PlanAnswer answer = search_plan(job, ranges, {.most_exact = 2});
    if (answer.best.empty()) continue;
    CHECK(answer.bound_ns <= fastest);
    CHECK(answer.best.front().step_ns >= fastest);
    const PlanAnswer again = search_plan(job, ranges, {.most_exact = 2});
    CHECK(again.best.front().plan == answer.best.front().plan);
    CHECK(again.simulated == answer.simulated);
    CHECK(again.bound_ns == answer.bound_ns);
  }
}

TEST_CASE("seeds are never beaten by the answer's absence: it is at least as good as each of them") {
  Random random(5);
  const Network network = drawn_network(random, 6);
  Cluster cluster = random_cluster(random, 1, 3);
  for (DeviceSpec& device : cluster.devices) device.memory_bytes = 0;
  const PlanJob job = profiled_job(network, cluster, 6);
  PlanRanges ranges{.parallelisms = {Parallelism{.microbatch_size = 1}}, .places = {3}, .chunks = {2}};
  ranges.schedules = {"gpipe"};
  const PipelinePlan seed{.parallelism = ranges.parallelisms[0],
                          .places = 3,
                          .microbatches = 6,
                          .schedule = "zb-h1",
                          .partition = Partition{{0, 2, 4, 6}},
                          .order = {2, 1, 0}};
  const std::int64_t seeded = simulate_plan(seed, job.price).score.step_ns;
  const PlanAnswer answer = search_plan(job, ranges, {.most_simulations = 1}, {seed});
  REQUIRE(!answer.best.empty());
  CHECK(answer.best.front().step_ns <= seeded);
}

TEST_CASE("a job that cannot be says why, and one that does not fit says what misses how many bytes") {
  Random random(3);
  const Network network = drawn_network(random, 4);
  Cluster cluster = random_cluster(random, 1, 2);
  PlanRanges ranges{.parallelisms = {Parallelism{.microbatch_size = 4}}, .places = {2}, .chunks = {2}};
  CHECK_THROWS_WITH_AS(search_plan(profiled_job(network, cluster, 6), ranges, {}),
                       "plan: no choice of degrees, microbatch size and stages divides the batch of 6 on 2 devices",
                       Error);
  ranges.parallelisms.front().microbatch_size = 1;
  for (DeviceSpec& device : cluster.devices) device.memory_bytes = 1000;
  const PlanAnswer answer = search_plan(profiled_job(network, cluster, 6), ranges, {});
  CHECK(answer.best.empty());
  REQUIRE(answer.closest);
  CHECK(answer.closest->excess_bytes > 0);
  CHECK(answer.without_memory == 1);
}

TEST_CASE("the front holds what nothing else equals in step, peak and devices") {
  Random random(7);
  const Network network = drawn_network(random, 5);
  Cluster cluster = random_cluster(random, 1, 3);
  for (DeviceSpec& device : cluster.devices) device.memory_bytes = 0;
  PlanRanges ranges{.parallelisms = {Parallelism{.microbatch_size = 1}}, .places = {1, 2, 3}, .chunks = {2}};
  const PlanAnswer answer = search_plan(profiled_job(network, cluster, 4), ranges, {});
  REQUIRE(!answer.front.empty());
  for (const ScoredPlan& a : answer.front) {
    for (const ScoredPlan& b : answer.front) {
      const bool covers =
          a.step_ns <= b.step_ns && a.peak_bytes <= b.peak_bytes && a.plan.num_devices() <= b.plan.num_devices();
      CHECK((&a == &b || !covers));
    }
  }
  CHECK(std::any_of(answer.front.begin(), answer.front.end(),
                    [&](const ScoredPlan& score) { return score.step_ns == answer.best.front().step_ns; }));
}

TEST_CASE("a transformer on several devices: degrees, microbatch and recompute are chosen under a memory limit") {
  const Network network = load_network("gpt2-small");
  Cluster cluster;
  cluster.name = "four";
  cluster.devices_per_node = 4;
  cluster.devices.assign(4, {.name = "A100",
                             .flops_per_s = 312e12,
                             .memory_bytes_per_s = 2e12,
                             .memory_bytes = 4'000'000'000,
                             .compute_efficiency = 0.6,
                             .memory_efficiency = 0.9});
  cluster.intra_node = {.latency_ns = 5000, .bytes_per_s = 2e11};
  cluster.finish();
  PlanJob job{.num_layers = network.layers.size(), .num_devices = 4, .batch = 16};
  job.price = job_pricing(network, cluster, KernelRates{}, {});
  PlanRanges ranges{.parallelisms = {}, .places = {1, 2, 4}, .chunks = {2}};
  ranges.schedules = {"1f1b", "zb-v"};
  for (const std::int64_t data : {1, 2, 4}) {
    for (const std::int64_t size : {1, 4}) {
      for (const ActivationRecompute again : {ActivationRecompute::kNone, ActivationRecompute::kFull}) {
        ranges.parallelisms.push_back({.data = data, .recompute = again, .microbatch_size = size});
      }
    }
  }
  const PlanAnswer answer = search_plan(job, ranges, {.most_simulations = 200, .most_exact = 1});
  REQUIRE(!answer.best.empty());
  const ScoredPlan& best = answer.best.front();
  CHECK(best.plan.num_devices() == 4);
  CHECK(best.plan.microbatches * best.plan.parallelism.data * best.plan.parallelism.microbatch_size == 16);
  CHECK(answer.bound_ns > 0);
  CHECK(answer.bound_ns <= best.step_ns);
  PricingLimits tight{.memory_bytes = best.peak_bytes};  // less than it took, with the allocator's reserve
  job.price = job_pricing(network, cluster, KernelRates{}, tight);
  const PlanAnswer less = search_plan(job, ranges, {.most_simulations = 200, .most_exact = 1});
  REQUIRE(!less.best.empty());
  CHECK(less.best.front().peak_bytes < best.peak_bytes);
  CHECK(less.best.front().step_ns >= best.step_ns);
}

TEST_SUITE_END();
