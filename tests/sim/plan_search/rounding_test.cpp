#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>

#include "models/network/network_io.hpp"
#include "sim/plan_search/plan_search.hpp"
#include "sim/plan_search/prices/job_pricing.hpp"
#include "tests/support/every_plan.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/small_plan_jobs.hpp"

TEST_SUITE_BEGIN("plan search");

namespace plumb::testing {
namespace {

/// Two transformer layers of sizes for which hardly any pass takes a whole number of nanoseconds.
Network network_of_odd_times(std::mt19937& random) {
  const auto number = [&](std::int64_t low, std::int64_t high) {
    return std::to_string(drawn_between(random, low, high));
  };
  return network_from_json(R"({"format": "plumbline-network", "version": 1, "name": "odd", "sequence": )" +
                               number(33, 200) + R"(, "width": )" + std::to_string(4 * drawn_between(random, 9, 60)) +
                               R"(, "vocabulary": )" + number(101, 999) +
                               R"(, "layers": [{"kind": "embedding"}, {"repeat": 2, "layers": [
        {"kind": "residual", "body": [{"kind": "rms_norm"}, {"kind": "attention", "heads": 4}]},
        {"kind": "residual", "body": [{"kind": "rms_norm"}, {"kind": "mlp", "hidden": )" +
                               number(101, 999) + R"(}]}]}, {"kind": "head"}]})",
                           "odd.json");
}

/// Three devices, the last of them slower where `unlike`.
Cluster cluster_of_odd_times(std::mt19937& random, bool unlike) {
  const auto rate = [&](double scale) {
    return scale * (1 + static_cast<double>(drawn_between(random, 1, 9999)) / 7e3);
  };
  Cluster cluster;
  cluster.name = "odd";
  cluster.devices_per_node = 3;
  cluster.devices.assign(3, {.name = "device", .flops_per_s = rate(1e12), .memory_bytes_per_s = rate(1e11)});
  if (unlike) {
    cluster.devices[2].flops_per_s *= 0.7;
    cluster.devices[2].memory_bytes_per_s *= 0.7;
  }
  cluster.intra_node = {.latency_ns = 1000, .bytes_per_s = rate(1e10)};
  cluster.finish();
  return cluster;
}

PlanJob job_of_odd_times(std::mt19937& random, bool unlike) {
  const Network network = network_of_odd_times(random);
  const Cluster cluster = cluster_of_odd_times(random, unlike);
  return {.num_layers = network.layers.size(),
          .num_devices = 3,
          .batch = drawn_between(random, 2, 6),
          .price = job_pricing(network, cluster, std::nullopt, {})};
}

}  // namespace

TEST_CASE("where times are rounded the plan that is found is the fastest of all and its bound, to the nanosecond") {
  for (std::uint32_t seed = 1; seed <= (kSanitized ? 2 : 16); ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const PlanJob job = job_of_odd_times(random, seed % 2 == 0);
    PlanRanges ranges{.parallelisms = {{.microbatch_size = 1}}, .places = {1, 2, 3}, .chunks = {2}};
    ranges.schedules = {"1f1b", "gpipe", "zb-h1", "zb-v", "interleaved"};
    const std::int64_t fastest = fastest_of_all(job, ranges);
    const PlanAnswer answer = search_plan(job, ranges, {.most_exact = 100'000});
    REQUIRE(!answer.best.empty());
    CHECK(answer.exhausted);
    CHECK(answer.best.front().step_ns == fastest);
    CHECK(answer.bound_ns == fastest);
  }
}

TEST_CASE("a whole backward takes no longer than its halves, and at most a nanosecond less") {
  for (std::uint32_t seed = 1; seed <= 16; ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const PlanJob job = job_of_odd_times(random, false);
    for (std::size_t end = 1; end < job.num_layers; ++end) {
      const PricedStages stages = job.price({.microbatch_size = 1}, Partition{{0, end, job.num_layers}}, 2, {});
      for (const StageTimes& times : stages.costs.times) {
        CHECK(times.b <= times.i + times.w);
        CHECK(times.b >= times.i + times.w - 1);
      }
    }
  }
}

}  // namespace plumb::testing

TEST_SUITE_END();
