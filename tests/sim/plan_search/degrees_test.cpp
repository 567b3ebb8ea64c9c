#include <algorithm>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "models/network/network_io.hpp"
#include "sim/plan_search/plan_search.hpp"
#include "sim/plan_search/prices/job_pricing.hpp"
#include "tests/support/every_plan.hpp"

TEST_SUITE_BEGIN("plan search");

namespace {

using namespace plumb;
using plumb::testing::fastest_of_all;

/// Two routed transformer layers: 6 layers to cut.
Network routed_network() {
  return network_from_json(R"({"format": "plumbline-network", "version": 1, "name": "routed", "sequence": 64,
      "width": 64, "vocabulary": 256, "layers": [{"kind": "embedding"}, {"repeat": 2, "layers": [
        {"kind": "residual", "body": [{"kind": "rms_norm"}, {"kind": "attention", "heads": 4}]},
        {"kind": "residual", "body": [{"kind": "rms_norm"},
                                      {"kind": "moe", "hidden": 256, "experts": 4, "experts_per_token": 1}]}]},
      {"kind": "head"}]})",
                           "routed.json");
}

Cluster four_devices(std::int32_t per_node) {
  Cluster cluster;
  cluster.name = "four";
  cluster.devices_per_node = per_node;
  cluster.devices.assign(4, {.name = "device", .flops_per_s = 1e11, .memory_bytes_per_s = 1e11});
  cluster.intra_node = {.latency_ns = 1000, .bytes_per_s = 1e11};
  cluster.inter_node = {.latency_ns = 5000, .bytes_per_s = 1e10};
  cluster.finish();
  return cluster;
}

/// No overheads of memory, so that limits are those of tensors alone.
KernelRates bare_rates() {
  KernelRates rates;
  rates.context_bytes = rates.library_bytes = rates.workspace_bytes = 0;
  rates.memory_reserve = 0;
  return rates;
}

PlanJob routed_job(const Cluster& cluster, std::int64_t memory_bytes) {
  const Network network = routed_network();
  return {.num_layers = network.layers.size(),
          .num_devices = static_cast<std::int64_t>(cluster.devices.size()),
          .batch = 4,
          .price = job_pricing(network, cluster, bare_rates(), {.memory_bytes = memory_bytes})};
}

/// Context and expert degrees with what is left for data, on four devices.
std::vector<Parallelism> spread_choices(const std::vector<std::int64_t>& experts) {
  std::vector<Parallelism> all;
  for (const std::int64_t context : {1, 2}) {
    for (const std::int64_t data : {1, 2, 4}) {
      for (const std::int64_t expert : experts) {
        if (context * data > 4 || context * data % expert != 0) continue;
        for (const ZeroStage zero : {ZeroStage::kNone, ZeroStage::kWeights}) {
          if (zero == ZeroStage::kWeights && context * data == 1) continue;
          all.push_back({.context = context, .expert = expert, .data = data, .zero = zero, .microbatch_size = 1});
        }
      }
    }
  }
  return all;
}

std::int64_t all_bytes(const StageMemory& memory) { return held_bytes(memory) + stash_bytes(memory); }

void check_no_less(const PricedStages& part, std::size_t at, const PricedStages& stage, std::size_t of) {
  const StageTimes& small = part.costs.times[at];
  const StageTimes& large = stage.costs.times[of];
  for (Ticks StageTimes::*time : {&StageTimes::f, &StageTimes::b, &StageTimes::i, &StageTimes::w, &StageTimes::u}) {
    CHECK(small.*time <= large.*time);
  }
  CHECK(held_bytes(part.costs.memory[at]) <= held_bytes(stage.costs.memory[of]));
  CHECK(all_bytes(part.costs.memory[at]) <= all_bytes(stage.costs.memory[of]));
}

}  // namespace

TEST_CASE("with context and expert degrees the answer is the best of all plans, and proved") {
  for (const std::int32_t per_node : {2, 4}) {
    const Cluster cluster = four_devices(per_node);
    for (const std::int64_t limit : {std::int64_t{0}, std::int64_t{3'000'000}}) {
      CAPTURE(per_node);
      CAPTURE(limit);
      const PlanJob job = routed_job(cluster, limit);
      PlanRanges ranges{.parallelisms = spread_choices({1, 2, 4}), .places = {1, 2, 4}, .chunks = {2}};
      ranges.schedules = {"1f1b", "zb-h1"};
      const std::int64_t fastest = fastest_of_all(job, ranges);
      const PlanAnswer answer = search_plan(job, ranges, {.most_exact = 100'000});
      REQUIRE(!answer.best.empty());
      CHECK(answer.best.front().step_ns == fastest);
      CHECK(answer.exhausted);
    }
  }
}

TEST_CASE("experts are shared where memory wants it, and only there does the plan fit") {
  const auto fits = [](std::int64_t expert, std::int64_t limit) {
    PlanRanges ranges{.parallelisms = spread_choices({expert}), .places = {1}, .chunks = {2}};
    ranges.schedules = {"1f1b"};
    std::erase_if(ranges.parallelisms, [](const Parallelism& choice) { return choice.zero != ZeroStage::kNone; });
    return !search_plan(routed_job(four_devices(4), limit), ranges, {}).best.empty();
  };
  const auto least_memory = [&](std::int64_t expert) {
    std::int64_t below = 0;
    std::int64_t enough = 100'000'000;
    while (enough - below > 1) (fits(expert, (below + enough) / 2) ? enough : below) = (below + enough) / 2;
    return enough;
  };
  CHECK(least_memory(4) < least_memory(2));
  const PlanJob job = routed_job(four_devices(4), least_memory(4));
  PlanRanges ranges{.parallelisms = spread_choices({1, 2, 4}), .places = {1}, .chunks = {2}};
  ranges.schedules = {"1f1b"};
  std::erase_if(ranges.parallelisms, [](const Parallelism& choice) { return choice.zero != ZeroStage::kNone; });
  const PlanAnswer shared = search_plan(job, ranges, {});
  REQUIRE(!shared.best.empty());
  CHECK(shared.best.front().plan.parallelism.expert == 4);
  std::erase_if(ranges.parallelisms, [](const Parallelism& choice) { return choice.expert != 1; });
  CHECK(search_plan(job, ranges, {}).best.empty());
}

TEST_CASE("prices of stages have the properties that bounds rely on, for every degree") {
  const PlanJob job = routed_job(four_devices(2), 0);
  const std::size_t layers = job.num_layers;
  for (const Parallelism& choice : spread_choices({1, 2, 4})) {
    CAPTURE(choice.context);
    CAPTURE(choice.expert);
    CAPTURE(choice.data);
    const PricedStages whole = job.price(choice, Partition{{0, layers}}, 1, {});
    for (std::size_t cut = 1; cut < layers; ++cut) {
      const PricedStages two = job.price(choice, Partition{{0, cut, layers}}, 1, {});
      check_no_less(two, 0, whole, 0);
      check_no_less(two, 1, whole, 0);
      for (Ticks StageTimes::*time : {&StageTimes::f, &StageTimes::b, &StageTimes::i, &StageTimes::w, &StageTimes::u}) {
        CHECK(two.costs.times[0].*time + two.costs.times[1].*time + 2 >= whole.costs.times[0].*time);
      }
      CHECK(held_bytes(two.costs.memory[0]) + held_bytes(two.costs.memory[1]) >= held_bytes(whole.costs.memory[0]));
    }
  }
}

TEST_SUITE_END();
