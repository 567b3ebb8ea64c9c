#include "models/jobs/stage_choices.hpp"

#include <doctest/doctest.h>

#include <memory>

#include "models/cluster/cluster_io.hpp"
#include "models/ground/error.hpp"
#include "models/import/load_network.hpp"
#include "models/jobs/job_costs.hpp"
#include "models/jobs/job_passes.hpp"
#include "models/kernels/kernel_rates_io.hpp"

TEST_SUITE_BEGIN("models");

namespace {

using namespace plumb;

std::int64_t held_of(const StageMemory& memory) {
  return memory.weight_bytes + memory.gradient_bytes + memory.optimizer_bytes;
}

/// Four stages of GPT-2 medium, each over eight data ranks.
struct ShardedStages {
  Network network = load_network("gpt2-medium");
  Cluster cluster = load_cluster("a100-4x8");
  Partition partition = equal_partition(network, 4);

  JobCosts costs(Parallelism job, const StageChoices& choices = {}) const {
    job.data = 8;
    return job_costs(network, partition, {cluster, 4}, job, choices);
  }
  JobCosts counted(std::int32_t count, ZeroStage zero = ZeroStage::kOptimizer) const {
    return costs({.zero = zero, .zero_by_layer = true}, {.sharded = {count, count, count, count}});
  }
};

}  // namespace

TEST_CASE("no layers sharded by themselves are the job's ZeRO stage, all of them are ZeRO 3") {
  const ShardedStages four;
  for (const ZeroStage zero : {ZeroStage::kNone, ZeroStage::kOptimizer, ZeroStage::kGradients}) {
    const JobCosts none = four.counted(0, zero);
    CHECK(none.costs.times == four.costs({.zero = zero}).costs.times);
    CHECK(none.costs.memory == four.costs({.zero = zero}).costs.memory);
  }
  const JobCosts sharded = four.costs({.zero = ZeroStage::kWeights});
  StageChoices choices;
  for (std::size_t s = 0; s < 4; ++s) {
    const LayerRange range = four.partition.range(s);
    choices.sharded.push_back(static_cast<std::int32_t>(range.end - range.begin));
  }
  const JobCosts all = four.costs({.zero = ZeroStage::kOptimizer, .zero_by_layer = true}, choices);
  for (std::size_t s = 0; s < 4; ++s) {
    CAPTURE(s);
    CHECK(all.costs.times[s] == sharded.costs.times[s]);
    CHECK(all.costs.memory[s] == sharded.costs.memory[s]);
  }
}

TEST_CASE("every further sharded layer makes passes no shorter and holds less, and the price without counts is least") {
  const ShardedStages four;
  const JobCosts least = four.costs({.zero = ZeroStage::kOptimizer, .zero_by_layer = true});
  JobCosts before = four.counted(0);
  for (std::int32_t count = 1; count <= 6; ++count) {
    CAPTURE(count);
    const JobCosts now = four.counted(count);
    for (std::size_t s = 0; s < 4; ++s) {
      CAPTURE(s);
      CHECK(now.costs.times[s].f >= before.costs.times[s].f);
      CHECK(now.costs.times[s].b >= before.costs.times[s].b);
      CHECK(held_of(now.costs.memory[s]) < held_of(before.costs.memory[s]));
      CHECK(least.costs.times[s].f <= now.costs.times[s].f);
      CHECK(least.costs.times[s].b <= now.costs.times[s].b);
      CHECK(least.costs.times[s].u <= now.costs.times[s].u);
      CHECK(held_of(least.costs.memory[s]) <= held_of(now.costs.memory[s]));
      CHECK(least.costs.memory[s].workspace_f_bytes <= now.costs.memory[s].workspace_f_bytes);
    }
    before = now;
  }
  CHECK(least.costs.times[1].f == four.counted(0).costs.times[1].f);
  CHECK(least.costs.times[1].u < four.counted(0).costs.times[1].u);
}

TEST_CASE("stages with choices of their own cost the same where their passes are known from another job") {
  const ShardedStages four;
  const KernelRates rates = kernel_rates_of(four.cluster.devices.front());
  const Parallelism left{.data = 8, .zero = ZeroStage::kOptimizer, .offload_by_stage = true};
  const Parallelism kept{.data = 4};
  CHECK(with_same_passes(left) == with_same_passes(kept));
  const auto passes = std::make_shared<const JobPasses>(four.network, four.cluster, rates, kept);
  const JobPrices shared(four.network, {four.cluster, 4}, left, passes);
  for (const StageChoices& choices : {StageChoices{}, StageChoices{.offloaded = {75, 50, 25, 0}}}) {
    const JobCosts costs = shared.costs(four.partition, 4, choices);
    CHECK(costs.costs.times == four.costs(left, choices).costs.times);
    CHECK(costs.costs.memory == four.costs(left, choices).costs.memory);
    CHECK(costs.costs.memory[1].stash.empty() == choices.offloaded.empty());
  }
  CHECK(shared.costs(four.partition, 4).least->front().kept_bytes == 0);
  // What sharded layers gather depends on the ranks, and messages on how they are compressed.
  CHECK(with_same_passes({.data = 8, .zero_by_layer = true}).data == 8);
  CHECK(with_same_passes({.data = 8, .activation_bits = 4}) != with_same_passes({.data = 8}));
}

TEST_CASE("what an update does to gradients takes as long, whoever shards them") {
  const ShardedStages four;
  const auto passes = [&](Parallelism job, const StageChoices& choices) {
    const double without_s = four.costs(job, choices).updates[1].optimizer_s;
    job.gradient_passes = GradientPasses::kClipped;
    return four.costs(job, choices).updates[1].optimizer_s - without_s;
  };
  const double none_s = passes({.zero = ZeroStage::kOptimizer}, {});
  CHECK(none_s > 0);
  const Parallelism by_layer{.zero = ZeroStage::kOptimizer, .zero_by_layer = true};
  CHECK(passes(by_layer, {.sharded = {3, 3, 3, 3}}) == doctest::Approx(none_s));
  CHECK(passes(by_layer, {}) == doctest::Approx(none_s));
}

TEST_CASE("counts that stages do not have are refused") {
  const ShardedStages four;
  const Parallelism job{.zero = ZeroStage::kOptimizer, .zero_by_layer = true};
  CHECK_THROWS_WITH_AS(four.costs(job, {.sharded = {1, 1}}),
                       "sharded layers: 2 counts, expected one for each of the 4 stages", Error);
  CHECK_THROWS_WITH_AS(four.costs({}, {.sharded = {1, 1, 1, 1}}),
                       "sharded layers: expected a job that leaves them to its stages", Error);
  CHECK_THROWS_WITH_AS(four.costs({.zero = ZeroStage::kWeights, .zero_by_layer = true}),
                       "parallelism: sharded layers: expected a ZeRO stage of at most 2 for the others, and neither "
                       "adapters nor compressed gradients",
                       Error);
}

TEST_SUITE_END();
