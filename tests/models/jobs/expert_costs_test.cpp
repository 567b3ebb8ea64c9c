#include "models/jobs/job_costs.hpp"

#include <doctest/doctest.h>

#include "models/cluster/cluster_io.hpp"
#include "models/import/load_network.hpp"
#include "models/jobs/job_memory.hpp"
#include "models/stages/network_costs.hpp"
#include "tests/support/plain_rates.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb {

using testing::plain_rates;

TEST_CASE("MoE work is that of the experts that tokens reach, and the fullest expert's capacity stretches it") {
  const Network network = load_network("mixtral-8x7b");
  const LayerSpec& moe = network.layers[2].body[1];
  const double one = 2.0 * 4096 * 3 * 4096 * 14336;  // tokens x products of one expert
  const double router = 2.0 * 4096 * 4096 * 8;
  CHECK(layer_kernels(moe, JobShape(network, {})).forward.flops() == doctest::Approx(2 * one + router));
  const Parallelism spread{.expert = 8, .data = 8};
  const LayerKernels kernels = layer_kernels(moe, JobShape(network, spread));
  CHECK(kernels.forward.flops() == doctest::Approx(2 * one + router));
  std::int64_t exchanges = 0;
  for (const Kernel& kernel : kernels.forward.list) {
    if (kernel.kind != Kernel::Kind::kExchange) continue;
    ++exchanges;
    CHECK(kernel.exchange.dispatcher == Dispatcher::kAllToAll);
    CHECK(kernel.exchange.copies == 2);
    CHECK(kernel.exchange.bytes == doctest::Approx(2.0 * 4096 * 4096));
  }
  CHECK(exchanges == 2);
  Parallelism uneven = spread;
  uneven.expert_imbalance = 1.5;
  CHECK(layer_kernels(moe, JobShape(network, uneven)).forward.flops() == doctest::Approx(3 * one + router));
  uneven.expert_capacity = 1.25;  // whoever is busier drops tokens
  CHECK(layer_kernels(moe, JobShape(network, uneven)).forward.flops() == doctest::Approx(2.5 * one + router));
}

TEST_CASE("experts take the parts of a divided sequence, gathered by the ranks that divide an expert") {
  const Network network = load_network("mixtral-8x7b");
  const LayerSpec& moe = network.layers[2].body[1];
  Parallelism job{.tensor = 2, .expert = 8, .data = 8, .sequence_parallel = true};
  const auto tokens = [&] { return JobShape(network, job).expert_tokens(moe); };
  CHECK(tokens() == 4096 * 2);  // both tensor ranks' halves, on half of each expert
  job.expert_tensor = 1;
  CHECK(tokens() == 4096);  // its own half, on whole experts
  CHECK(job.expert_replicas() == 2);
  job.expert_tensor = 2;
  CHECK(job.expert_replicas() == 1);
}

TEST_CASE("hidden exchanges cost a pass what they take of the multiprocessors, and what outlasts its kernels") {
  const Network network = load_network("mixtral-8x7b");
  const Cluster cluster = load_cluster("h100-4x8");
  const auto times = [&](const Parallelism& job) {
    return job_costs(network, equal_partition(network, 4), {cluster, 4, plain_rates()}, job).costs.times[1];
  };
  Parallelism job{.expert = 8, .data = 8};
  const StageTimes shown = times(job);
  job.overlap_experts = true;
  const StageTimes hidden = times(job);
  CHECK(hidden.f < shown.f);
  CHECK(hidden.b < shown.b);
  CHECK(hidden.w == shown.w);
}

TEST_CASE("hidden exchanges go on at 1/1.31 of their rate while kernels run, and alone after them") {
  const Network network = load_network("mixtral-8x7b");
  const Cluster cluster = load_cluster("h100-4x8");
  KernelRates rates = plain_rates();
  rates.multiprocessors = 1;  // of which exchanges take none
  const auto forward = [&](const Parallelism& job) {
    return static_cast<double>(
        job_costs(network, equal_partition(network, 4), {cluster, 4, rates}, job).costs.times[1].f);
  };
  const Parallelism shown{.expert = 8, .data = 8};
  Parallelism hidden = shown;
  hidden.overlap_experts = true;
  const double kernels = forward(hidden);  // they outlast the exchanges
  for (const double slower : {40.0, 4.0}) {
    rates.inside_share /= slower;
    const double exchanges = forward(shown) - kernels;
    REQUIRE(exchanges > kernels);
    CHECK(forward(hidden) == doctest::Approx(exchanges + (1 - 1 / 1.31) * kernels).epsilon(1e-3));
  }
}

TEST_CASE("a measured all-to-all is what its dispatcher takes, and nothing to the one that sends once to a node") {
  const Network network = load_network("mixtral-8x7b");
  const Cluster cluster = load_cluster("h100-4x8");
  const auto forward = [&](Dispatcher dispatcher, double share) {
    KernelRates rates = plain_rates();
    rates.collectives = {{CollectiveOp::kAllToAll, 8, 1, share, 0}};
    const Parallelism job{.expert = 8, .data = 8, .dispatcher = dispatcher};
    return job_costs(network, equal_partition(network, 4), {cluster, 4, rates}, job).costs.times[1].f;
  };
  CHECK(forward(Dispatcher::kAllToAll, 0.25) > forward(Dispatcher::kAllToAll, 0.5));
  CHECK(forward(Dispatcher::kOncePerNode, 0.25) == forward(Dispatcher::kOncePerNode, 0.5));
}

TEST_CASE("of the kernels that a profile of Qwen3-30B counts for a layer and microbatch, five sixths are counted") {
  const Network network = load_network("qwen3-30b-a3b");
  const Parallelism job{.expert = 16, .data = 16, .microbatch_size = 1, .dispatcher = Dispatcher::kOncePerNode};
  const JobShape shape(network, job);
  double launches = 0;
  for (const std::size_t k : {1, 2}) {  // attention, experts
    const LayerKernels kernels = layer_kernels(network.layers[k], shape);
    for (const PassKernels* pass : {&kernels.forward, &kernels.input_grad, &kernels.weight_grad}) {
      for (const Kernel& kernel : pass->list) launches += kernel.launches;
    }
  }
  const double profiled = 463348.0 / (48 * 64);  // layers x microbatches, 16 H100 (Megatron-Bridge 067f987)
  CHECK(launches < profiled);
  CHECK(launches > 0.8 * profiled);
}

TEST_CASE("the host starts experts one by one once it knows their tokens, unless they are in a captured graph") {
  const Network network = load_network("mixtral-8x7b");
  const Cluster cluster = load_cluster("h100-4x8");
  KernelRates rates = plain_rates();
  rates.host_ns = 1'000'000;  // all wait for the host
  const auto forward = [&](const Parallelism& job) {
    return job_costs(network, equal_partition(network, 4), {cluster, 4, rates}, job).costs.times[1].f;
  };
  Parallelism job{.expert = 8, .data = 8};
  const Ticks one_each = forward(job);
  job.expert = 4;
  const Ticks two_each = forward(job);
  CHECK(two_each - one_each >= 8 * 2 * 1'000'000);  // eight layers of two products
  job.captured = CapturedGraphs::kDense;
  const Ticks dense = forward(job);
  job.captured = CapturedGraphs::kAll;
  const Ticks all = forward(job);
  CHECK(dense < two_each);
  CHECK(all < dense);
  rates.host_ns = 0;
  CHECK(all == forward({.expert = 4, .data = 8}));
}

}  // namespace plumb

TEST_SUITE_END();
