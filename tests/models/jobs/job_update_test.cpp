#include "models/jobs/job_costs.hpp"

#include <cstdlib>

#include <doctest/doctest.h>

#include "models/cluster/cluster_io.hpp"
#include "models/ground/error.hpp"
#include "models/import/load_network.hpp"
#include "models/stages/network_costs.hpp"
#include "tests/support/plain_rates.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb {
using testing::plain_rates;

TEST_CASE("stages of one device share what an update takes besides its work") {
  const Network network = load_network("gpt2-xl");
  const Cluster cluster = load_cluster("a100");
  KernelRates rates = plain_rates();
  rates.update_ns = 2'000'001;
  const auto beside = [&](std::int32_t stages, std::int32_t places) {
    const Partition partition = equal_partition(network, stages);
    const JobCosts job = job_costs(network, partition, {cluster, places, rates}, {});
    const JobCosts without = job_costs(network, partition, {cluster, places, plain_rates()}, {});
    for (std::size_t s = 1; s < partition.num_stages(); ++s) {
      CHECK(job.costs.times[s].u - without.costs.times[s].u == job.costs.times[0].u - without.costs.times[0].u);
    }
    return job.costs.times[0].u - without.costs.times[0].u;
  };
  REQUIRE(plain_rates().update_ns == 0);
  CHECK(beside(4, 4) == 2'000'001);
  CHECK(beside(2, 4) == 2'000'001);
  CHECK(beside(8, 4) == 1'000'001);  // two of a device: together no less than the whole
  CHECK(beside(16, 4) == 500'001);
  CHECK(beside(6, 4) == 1'333'334);
}

TEST_CASE("gradients are reduced over data ranks, whole or by halves with ZeRO") {
  const Network network = load_network("gpt2-xl");
  const Cluster cluster = load_cluster("a100-8x8");
  const Partition partition = equal_partition(network, 4);
  const auto update = [&](const Parallelism& job) {
    return job_costs(network, partition, {cluster, 4, plain_rates()}, job).updates[1];
  };
  CHECK(update({}).reduce_s == 0);
  const UpdateSeconds plain = update({.data = 8});
  const UpdateSeconds sharded = update({.data = 8, .zero = ZeroStage::kOptimizer});
  CHECK(plain.gather_s == 0);
  CHECK(sharded.reduce_s == doctest::Approx(plain.reduce_s / 2).epsilon(0.01));
  CHECK(sharded.gather_s == doctest::Approx(plain.reduce_s / 4).epsilon(0.01));
  CHECK(sharded.optimizer_s == doctest::Approx(plain.optimizer_s / 8));
  CHECK(update({.data = 8, .overlap_gradients = true}).reduce_s < plain.reduce_s);
}

TEST_CASE(
    "gradients are zeroed, looked through, scaled and clipped in as many passes over memory as Megatron-LM makes") {
  const Network network = load_network("gpt2-xl");
  const Cluster cluster = load_cluster("a100-8x8");
  const Partition partition = equal_partition(network, 4);
  const auto update_s = [&](const Parallelism& job) {
    return job_costs(network, partition, {cluster, 4, plain_rates()}, job).updates[1].optimizer_s;
  };
  // SimuMax 4dcaae5 counts for 8.54e9 parameters, of which 4 ranks update a quarter each, in ms at 5.7 TB/s:
  // zeroing 6.0, norm before the reduction 6.0, division 12.0, norm after it 1.5, clipping 3.0. So as bytes of a
  // gradient of 4: 4, 4, 8, 1, 2.
  Parallelism job{.data = 4, .zero = ZeroStage::kOptimizer};
  const double plain = update_s(job);
  const Precision& bytes = job.precision;
  const double adam =
      static_cast<double>(bytes.gradient_bytes + 2 * bytes.weight_bytes + 2 * bytes.optimizer_bytes) / 4;
  job.gradient_passes = GradientPasses::kScaled;
  CHECK(update_s(job) / plain == doctest::Approx((adam + 4 + 4 + 8 + 1 + 2) / adam).epsilon(1e-6));
  job.gradient_passes = GradientPasses::kClipped;
  CHECK(update_s(job) / plain == doctest::Approx((adam + 4 + 1 + 2) / adam).epsilon(1e-6));
  job = {.gradient_passes = GradientPasses::kScaled};
  CHECK(update_s(job) / update_s({}) == doctest::Approx((4 * adam + 4 + 4 + 4 + 8) / (4 * adam)).epsilon(1e-6));
}

TEST_CASE("ZeRO in shard groups (MiCS) gathers inside of nodes, and adds up an eighth of the gradients between them") {
  const Network network = load_network("gpt2-xl");
  const Cluster cluster = load_cluster("a100-8x8");
  const Partition partition = equal_partition(network, 2);
  const auto costs = [&](const Parallelism& job) {
    return job_costs(network, partition, {cluster, 2, plain_rates()}, job);
  };
  const JobCosts all = costs({.data = 32, .zero = ZeroStage::kOptimizer});
  const JobCosts groups = costs({.data = 32, .zero = ZeroStage::kOptimizer, .shard_groups = ShardGroups::of(8)});
  const auto parameters = static_cast<double>(all.costs.memory[0].gradient_bytes) / 4;
  // By hand: a ring of 8 devices sends 7/8 of the bytes, one of 4 nodes 2 x 3/4 of an eighth; latencies are small.
  const double inside = cluster.intra_node.bytes_per_s;
  const double between = cluster.inter_node.bytes_per_s;
  CHECK(groups.updates[0].gather_s == doctest::Approx(7.0 / 8 * 2 * parameters / inside).epsilon(0.02));
  const double added_up = 2 * 3.0 / 4 * 4 * parameters / 8 / between;
  CHECK(groups.updates[0].reduce_s == doctest::Approx(7.0 / 8 * 4 * parameters / inside + added_up).epsilon(0.02));
  CHECK(groups.updates[0].optimizer_s == doctest::Approx(4 * all.updates[0].optimizer_s));
  CHECK(costs({.data = 32, .zero = ZeroStage::kOptimizer, .shard_groups = ShardGroups::of(32)}).updates[0].all() ==
        all.updates[0].all());
  const auto forward = [&](std::int64_t group) {
    return costs({.data = 32,
                  .zero = ZeroStage::kWeights,
                  .overlap_weights = false,
                  .shard_groups = ShardGroups::of(group)})
        .costs.times[0]
        .f;
  };
  CHECK(forward(8) < forward(0));
  CHECK(costs({.data = 32, .zero = ZeroStage::kWeights, .shard_groups = ShardGroups::of(8)}).updates[0].reduce_s ==
        doctest::Approx(added_up).epsilon(0.02));
}

TEST_CASE("shard groups of three sizes (AMSP) gather, scatter and add up each between those who share it") {
  const Network network = load_network("gpt2-xl");
  const Cluster cluster = load_cluster("a100-8x8");
  const Partition partition = equal_partition(network, 1);
  const auto costs = [&](ZeroStage zero, ShardGroups groups) {
    const Parallelism job{.data = 64, .zero = zero, .overlap_weights = false, .shard_groups = groups};
    return job_costs(network, partition, {cluster, 1, plain_rates()}, job);
  };
  const auto n = static_cast<double>(costs(ZeroStage::kNone, {}).costs.memory[0].gradient_bytes) / 4;
  const double inside = cluster.intra_node.bytes_per_s;
  const double between = cluster.inter_node.bytes_per_s;
  // By hand, latencies are small. Weights and gradients in nodes of 8, state over 64: between nodes a scatter of an
  // eighth of the gradients (4 bytes), and a gather of an eighth of the weights (2 bytes), 7/8 of each; no copies.
  const UpdateSeconds far = costs(ZeroStage::kWeights, {8, 8, 64}).updates[0];
  CHECK(far.reduce_s == doctest::Approx(7.0 / 8 * 4 * n / 8 / between).epsilon(0.02));
  CHECK(far.gather_s == doctest::Approx(7.0 / 8 * 2 * n / 8 / between).epsilon(0.02));
  // State over 32: two copies of every shard add up what is left of their gradients, a 32nd.
  const UpdateSeconds copies = costs(ZeroStage::kWeights, {8, 8, 32}).updates[0];
  CHECK(copies.reduce_s == doctest::Approx((3.0 / 4 * 4 * n / 8 + 2 * 1.0 / 2 * 4 * n / 32) / between).epsilon(0.03));
  // Weights in pairs, gradients and state in nodes: gathered in fours inside of a node.
  const UpdateSeconds near = costs(ZeroStage::kWeights, {2, 8, 8}).updates[0];
  CHECK(near.gather_s == doctest::Approx(3.0 / 4 * 2 * n / 2 / inside).epsilon(0.02));
  CHECK(near.reduce_s == costs(ZeroStage::kWeights, ShardGroups::of(8)).updates[0].reduce_s);
  const auto forward = [&](ShardGroups groups) { return costs(ZeroStage::kWeights, groups).costs.times[0].f; };
  CHECK(forward({8, 8, 64}) == forward(ShardGroups::of(8)));
  CHECK(forward({2, 8, 8}) < forward(ShardGroups::of(8)));
}

TEST_CASE("equal shard groups are those of one size, and groups of one the smaller stages of ZeRO") {
  const Network network = load_network("gpt2-xl");
  const Cluster cluster = load_cluster("a100-8x8");
  const Partition partition = equal_partition(network, 2);
  const auto costs = [&](ZeroStage zero, ShardGroups groups) {
    return job_costs(network, partition, {cluster, 2, plain_rates()},
                     {.data = 32, .zero = zero, .shard_groups = groups});
  };
  const auto same = [](const JobCosts& one, const JobCosts& other) {
    for (std::size_t s = 0; s < 2; ++s) {
      CHECK(one.updates[s].all() == other.updates[s].all());
      CHECK(one.costs.times[s].f == other.costs.times[s].f);
      CHECK(one.costs.times[s].b == other.costs.times[s].b);
      CHECK(one.costs.memory[s].weight_bytes == other.costs.memory[s].weight_bytes);
      CHECK(one.costs.memory[s].optimizer_bytes == other.costs.memory[s].optimizer_bytes);
    }
  };
  for (const ZeroStage zero : {ZeroStage::kOptimizer, ZeroStage::kGradients, ZeroStage::kWeights}) {
    same(costs(zero, ShardGroups::of(32)), costs(zero, {}));
    same(costs(zero, {0, 0, 32}), costs(zero, {}));
  }
  // What ZeRO 1 scatters at the update ZeRO 3 scatters with every microbatch, unless gradients are in groups of one.
  // The smaller stages also start the collectives of experts, of which there are none.
  const UpdateSeconds first = costs(ZeroStage::kOptimizer, {}).updates[0];
  const UpdateSeconds third = costs(ZeroStage::kWeights, {1, 1, 32}).updates[0];
  CHECK(third.reduce_s == doctest::Approx(first.reduce_s).epsilon(0.01));
  CHECK(third.gather_s == doctest::Approx(first.gather_s).epsilon(0.01));
  CHECK(costs(ZeroStage::kWeights, {1, 32, 32}).updates[0].gather_s ==
        doctest::Approx(costs(ZeroStage::kGradients, {}).updates[0].gather_s).epsilon(0.01));
}

TEST_CASE("compressed gradients (Optimus-CC) travel as a share of their bytes, and coding takes time") {
  const Network network = load_network("gpt2-xl");
  const Cluster cluster = load_cluster("a100-8x8");
  const Partition partition = equal_partition(network, 2);
  const auto reduce_s = [&](double share) {
    const Parallelism job{.data = 32, .gradient_share = share};
    return job_costs(network, partition, {cluster, 2, plain_rates()}, job).updates[0].reduce_s;
  };
  const JobCosts plain = job_costs(network, partition, {cluster, 2, plain_rates()}, {});
  const auto bytes = static_cast<double>(plain.costs.memory[0].gradient_bytes);
  const double coding = 2 * 1.25 * bytes / cluster.devices.front().memory_bytes_per_s;
  CHECK(reduce_s(0.25) == doctest::Approx(reduce_s(1) / 4 + coding).epsilon(0.02));
}

TEST_CASE("compressed activations (AQ-SGD) travel in few bits, and both ends read and write what they code") {
  const Network network = load_network("gpt2-xl");
  const Cluster cluster = load_cluster("a100-8x8");
  const Partition partition = equal_partition(network, 4);
  const auto costs = [&](std::int32_t forward, std::int32_t backward) {
    const Parallelism job{.activation_bits = forward, .activation_grad_bits = backward};
    return job_costs(network, partition, {cluster, 4, plain_rates()}, job).costs;
  };
  const StageCosts plain = costs(0, 0);
  const StageCosts coded = costs(4, 8);
  const std::int64_t bytes = plain.memory[1].output_bytes;
  CHECK(coded.memory[1].output_bytes == bytes / 4);
  CHECK(coded.memory[2].input_bytes == bytes / 4);
  CHECK(coded.memory[1].input_grad_bytes == bytes / 2);
  CHECK(coded.memory[0].output_grad_bytes == bytes / 2);
  const double n = static_cast<double>(bytes) / cluster.devices.front().memory_bytes_per_s * 1e9;
  const auto more = [&](std::size_t stage, Ticks StageTimes::*pass) {
    return static_cast<double>(coded.times[stage].*pass - plain.times[stage].*pass);
  };
  // Value and code, and of activations what was sent for the same sample before, read and written.
  CHECK(more(0, &StageTimes::f) == doctest::Approx(3.25 * n).epsilon(0.01));
  CHECK(more(1, &StageTimes::f) == doctest::Approx(2 * 3.25 * n).epsilon(0.01));
  CHECK(more(1, &StageTimes::i) == doctest::Approx(2 * 1.5 * n).epsilon(0.01));
  CHECK(more(3, &StageTimes::b) == doctest::Approx(1.5 * n).epsilon(0.01));
  CHECK(more(1, &StageTimes::w) == 0);
  CHECK(coded.memory[1].stash == plain.memory[1].stash);
  CHECK_THROWS_WITH_AS(costs(17, 8), "parallelism: compressed activations: expected 1 to 16 bits, found 17", Error);
}

TEST_CASE("storage devices (Smart-Infinity) update at their rate; gradients and weights pass the host's link") {
  const Network network = load_network("gpt2-xl");
  Cluster cluster = load_cluster("a100-8x8");
  cluster.host_link = {.latency_ns = 0, .bytes_per_s = 20e9, .devices_per_link = 2};
  const Partition partition = equal_partition(network, 2);
  const auto costs = [&](const Parallelism& job) {
    return job_costs(network, partition, {cluster, 2, plain_rates()}, job);
  };
  const JobCosts device = costs({});
  const JobCosts storage = costs({.storage_bytes_per_s = 3e9});
  const auto parameters = static_cast<double>(device.costs.memory[0].gradient_bytes) / 4;
  CHECK(storage.updates[0].optimizer_s ==
        doctest::Approx(parameters * (4 + 2 * 2 + 2 * 12) / 3e9 + parameters * (4 + 2) / 10e9));
  CHECK(storage.costs.memory[0].optimizer_bytes == 0);
  CHECK(storage.costs.memory[0].weight_bytes == device.costs.memory[0].weight_bytes);
  const JobCosts compressed =
      costs({.data = 4, .zero = ZeroStage::kOptimizer, .gradient_share = 0.5, .storage_bytes_per_s = 3e9});
  CHECK(compressed.updates[0].optimizer_s ==
        doctest::Approx(parameters / 4 * (4 + 2 * 2 + 2 * 12) / 3e9 + parameters / 4 * (2 + 2) / 10e9));
}

}  // namespace plumb

TEST_SUITE_END();
