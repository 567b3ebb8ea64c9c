#include "models/jobs/job_costs.hpp"

#include <cstdlib>
#include <random>

#include <doctest/doctest.h>

#include "models/cluster/cluster_io.hpp"
#include "models/ground/error.hpp"
#include "models/import/load_network.hpp"
#include "models/jobs/activation_steps.hpp"
#include "models/jobs/job_memory.hpp"
#include "models/jobs/job_passes.hpp"
#include "models/stages/lay_out_stage.hpp"
#include "models/stages/network_costs.hpp"
#include "tests/support/plain_rates.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb {
using testing::plain_rates;

TEST_CASE("kernels of the passes of a transformer layer do the published FLOPs") {
  const Network network = load_network("gpt3-175b");
  const double s = 2048;
  const double h = 12288;
  for (const std::int64_t tensor : {1, 8}) {
    CAPTURE(tensor);
    const JobShape shape(network, {.tensor = tensor, .flash_attention = false});
    double f = 0;
    double i = 0;
    double w = 0;
    for (const std::size_t at : {1, 2}) {
      const LayerKernels kernels = layer_kernels(network.layers[at], shape);
      f += kernels.forward.flops();
      i += kernels.input_grad.flops();
      w += kernels.weight_grad.flops();
    }
    const auto t = static_cast<double>(tensor);
    CHECK(f == doctest::Approx(s * h * (24 * h + 4 * s) / t));
    CHECK(i == doctest::Approx(s * h * (24 * h + 8 * s) / t));
    CHECK(w == doctest::Approx(s * h * 24 * h / t));
  }
}

TEST_CASE("layers whose products have biases keep masks of dropout unless the job says otherwise; others never do") {
  const auto differ = [](const char* name) {
    const Network network = load_network(name);
    const JobShape unsaid(network, {});
    const JobShape none(network, {.dropout = false});
    bool unlike = false;
    for (const LayerSpec& layer : network.layers) {
      const LayerKernels with = layer_kernels(layer, unsaid);
      const LayerKernels without = layer_kernels(layer, none);
      unlike |= kept_bytes(layer, unsaid).from_forward() != kept_bytes(layer, none).from_forward();
      unlike |= with.forward.list.size() != without.forward.list.size();
    }
    return unlike;
  };
  CHECK(differ("gpt3-175b"));
  CHECK_FALSE(differ("llama3-8b"));
  CHECK_FALSE(differ("deepseek-v3"));  // latent attention
}

TEST_CASE("heads that do not fill the width cost their own width in kernels and bytes") {
  const Network network = load_network("qwen3-30b-a3b");  // 2048 wide, 32 heads of 128, 4 of keys and values
  const double tokens = 4096;
  for (const std::int64_t tensor : {1, 4}) {
    const JobShape shape(network, {.tensor = tensor});
    const LayerSpec& attention = network.layers[1].body[1];
    const auto t = static_cast<double>(tensor);
    const double projections = 2 * tokens * 2048 * (4096 + 2 * 512 + 4096);
    CHECK(layer_kernels(attention, shape).forward.flops() ==
          doctest::Approx((projections + 2 * tokens * tokens * 4096) / t));  // the causal half of the scores
    CHECK(layer_kernels(attention, shape).weight_grad.flops() == doctest::Approx(projections / t));
    const std::int64_t shared = 2 * 2048 * 4096;                                   // input, whole on every rank
    const std::int64_t divided = 2 * 4096 * (4096 + 5120 + 4608) + 4 * 4096 * 32;  // attended, qkv, before norms, sums
    CHECK(kept_bytes(attention, shape).from_forward() == shared + divided / tensor);
  }
}

TEST_CASE("a stage takes the time of its kernels, and full recompute runs the forward again") {
  const Network network = load_network("megatron-22b");
  const Cluster cluster = load_cluster("a100-8x8");
  const Partition partition = equal_partition(network, 8);
  const auto inner = [&](ActivationRecompute recompute) {
    const Parallelism job{.tensor = 8, .recompute = recompute, .flash_attention = false};
    return job_costs(network, partition, {cluster, 8, plain_rates()}, job).costs.times[3];
  };
  const StageTimes none = inner(ActivationRecompute::kNone);
  const StageTimes full = inner(ActivationRecompute::kFull);
  CHECK(full.f == none.f);
  CHECK(static_cast<double>(full.b - none.b) == doctest::Approx(static_cast<double>(none.f)).epsilon(1e-6));
  CHECK(inner(ActivationRecompute::kSelective).b > none.b);
  CHECK(inner(ActivationRecompute::kSelective).b < full.b);
  CHECK(static_cast<double>(none.b) == doctest::Approx(static_cast<double>(none.i + none.w)).epsilon(1e-6));
}

TEST_CASE("sequence parallelism moves the bytes of an all-reduce, and shortens norms") {
  const Network network = load_network("megatron-22b");
  const Cluster cluster = load_cluster("a100-8x8");
  const Partition partition = equal_partition(network, 8);
  const Parallelism with{.tensor = 8, .sequence_parallel = true};
  const Parallelism without{.tensor = 8};
  const auto f = [&](const Parallelism& job) {
    return job_costs(network, partition, {cluster, 8, plain_rates()}, job).costs.times[3].f;
  };
  CHECK(f(with) < f(without));
}

TEST_CASE("passes say which of their time is communication, which the other half of a pair can hide") {
  const Network network = load_network("megatron-22b");
  const Cluster cluster = load_cluster("a100-8x8");
  const Partition partition = equal_partition(network, 8);
  const auto inner = [&](const Parallelism& job) {
    return job_costs(network, partition, {cluster, 8, plain_rates()}, job).costs.times[3];
  };
  const StageTimes shown = inner({.tensor = 8});
  // Six blocks of two branches, each with one sum of 2048 tokens of 6144 numbers of 2 bytes per pass.
  const double bytes = static_cast<double>(network.samples * network.sequence) * 6144 * 2;
  const double sums = 12 * plain_rates().collective_s(CollectiveOp::kAllReduce, device_group(cluster, 8, 1), bytes);
  CHECK(static_cast<double>(shown.f_comm.all) == doctest::Approx(sums * 1e9).epsilon(1e-6));
  CHECK(static_cast<double>(shown.i_comm.all) == doctest::Approx(sums * 1e9).epsilon(1e-6));
  CHECK(shown.f_comm.shown == shown.f_comm.all);
  CHECK(shown.b_comm == shown.i_comm);
  CHECK(shown.w_comm == CommTime{});
  // Sums that the pass hides behind its own kernels are still on the links, but no time of it.
  const StageTimes hidden = inner({.tensor = 8, .overlap_tensor = true});
  CHECK(hidden.b_comm.all == shown.b_comm.all);
  CHECK(hidden.b_comm.shown == 0);
  CHECK(std::abs(hidden.b - (shown.b - shown.b_comm.shown)) <= 1);  // rounded each for itself
  CHECK(inner({}).f_comm == CommTime{});
}

TEST_CASE("overlapped products wait for the first part of what tensor ranks exchange; the others travel beside them") {
  const Network network = load_network("megatron-22b");
  const Cluster cluster = load_cluster("a100-8x8");
  const Partition partition = equal_partition(network, 8);
  const auto inner = [&](const Parallelism& job) {
    return job_costs(network, partition, {cluster, 8, plain_rates()}, job).costs.times[3];
  };
  const StageTimes whole = inner({.tensor = 8, .sequence_parallel = true});
  const StageTimes parts = inner({.tensor = 8, .sequence_parallel = true, .overlap_products = true});
  // Twelve branches gather before their products and scatter behind them; one of eight parts is waited for.
  const double part = static_cast<double>(network.samples * network.sequence) * 6144 * 2 / 8;
  const auto group = device_group(cluster, 8, 1);
  const double waits = 12 * (plain_rates().collective_s(CollectiveOp::kAllGather, group, part) +
                             plain_rates().collective_s(CollectiveOp::kReduceScatter, group, part));
  CHECK(static_cast<double>(parts.f_comm.shown) == doctest::Approx(waits * 1e9).epsilon(1e-6));
  CHECK(parts.f < whole.f);
  // Without a divided sequence there is nothing to exchange in parts.
  CHECK(inner({.tensor = 8, .overlap_products = true}).f == inner({.tensor = 8}).f);
}

TEST_CASE("a host that starts kernels slowly holds the device up") {
  const Network network = load_network("gpt2-small");
  const Cluster cluster = load_cluster("a100");
  const Partition partition = equal_partition(network, 2);
  KernelRates rates = plain_rates();
  const Ticks fast = job_costs(network, partition, {cluster, 2, rates}, {}).costs.times[0].f;
  rates.host_ns = 1'000'000;
  const JobCosts slow = job_costs(network, partition, {cluster, 2, rates}, {});
  CHECK(slow.costs.times[0].f > fast);
  CHECK(slow.costs.times[0].f % 1'000'000 == 0);
  // Where launches block, the host does not start a kernel while another runs.
  const JobCosts blocking = job_costs(network, partition, {cluster, 2, rates}, {.blocking_launches = true});
  CHECK(std::abs(blocking.costs.times[0].f - (slow.costs.times[0].f + fast)) <= 1000);
}

TEST_CASE("places of a pipeline stand as far apart as their ranks") {
  const Network network = load_network("gpt3-175b");
  const Cluster cluster = load_cluster("a100-8x8");
  const Partition partition = equal_partition(network, 8);
  const JobCosts narrow = job_costs(network, partition, {cluster, 8}, {.tensor = 2});
  CHECK(narrow.pipeline.devices_per_node == 4);
  CHECK(narrow.pipeline.route(DeviceId{0}, DeviceId{1}).bytes_per_s == cluster.intra_node.bytes_per_s);
  CHECK(narrow.pipeline.route(DeviceId{3}, DeviceId{4}).bytes_per_s == cluster.inter_node.bytes_per_s);
  const JobCosts wide = job_costs(network, partition, {cluster, 8}, {.tensor = 8});
  CHECK(wide.pipeline.devices_per_node == 1);
  CHECK_THROWS_WITH_AS(
      job_costs(network, partition, {cluster, 8}, {.tensor = 8, .data = 2}),
      "cluster 'a100-8x8': has 64 devices, expected at least 128: 8 pipeline ranks of tensor x context x "
      "data = 16",
      Error);
}

TEST_CASE("a stash takes its rank's share of the way to the host, and layers' forwards add up to the stage's") {
  const Network network = load_network("megatron-22b");
  const Partition partition = equal_partition(network, 8);
  const Cluster cluster = load_cluster("a100-8x8");  // two neighbours share 22 GB/s
  const JobCosts job = job_costs(network, partition, {cluster, 8, plain_rates()}, {.tensor = 8});
  CHECK(job.costs.from_network);
  CHECK(job.pipeline.host_link.bytes_per_s == 11e9);
  CHECK(job.pipeline.host_link.devices_per_link == 1);
  const double bytes = static_cast<double>(kept_bytes(job.costs.memory[3], false));
  CHECK(static_cast<double>(job.costs.times[3].evict) == doctest::Approx(10'000 + bytes / 11));
  REQUIRE(job.costs.layer_forward.size() == network.layers.size());
  const LayerRange range = partition.range(3);
  Ticks sum = 0;
  for (std::size_t k = range.begin; k < range.end; ++k) sum += job.costs.layer_forward[k];
  CHECK(static_cast<double>(sum) == doctest::Approx(static_cast<double>(job.costs.times[3].f)).epsilon(1e-4));
}

TEST_CASE("stages that are alike are priced once, and cost what they cost where none counts as alike") {
  const Network network = load_network("gpt2-small");  // its head is tied to the embedding
  Network told = network;                              // layers that say what they read are like no other
  for (std::size_t k = 1; k < told.layers.size(); ++k) told.layers[k].input = told.layers[k - 1].name;
  const Cluster cluster = load_cluster("a100");
  const Parallelism job{.tensor = 2, .sequence_parallel = true, .microbatch_size = 2};
  const JobPrices prices(network, {cluster, 4, plain_rates()}, job);
  for (const char* cut : {"6,7,7,7", "7,7,7,6", "1,1,1,24", "24,1,1,1", "27", "9,9,9", "6,7,7,7"}) {
    CAPTURE(cut);
    const Partition partition = parse_partition(cut, network.layers.size());
    const JobCosts known = prices.costs(partition, 4);
    const JobCosts each = job_costs(told, partition, {cluster, 4, plain_rates()}, job);
    CHECK(known.costs.times == each.costs.times);
    CHECK(known.costs.memory == each.costs.memory);
    CHECK(known.costs.layer_forward == each.costs.layer_forward);
    CHECK(known.costs.tied == each.costs.tied);
  }
}

TEST_CASE("jobs that differ in data ranks and optimizer shards share their passes, and cost what they cost alone") {
  const Network network = load_network("mixtral-8x7b");
  const Cluster cluster = load_cluster("a100-8x8");
  const Partition partition = equal_partition(network, 4);
  Parallelism job{.tensor = 2, .expert = 4, .data = 4, .sequence_parallel = true, .microbatch_size = 1};
  job.expert_tensor = 1;
  const auto passes = std::make_shared<const JobPasses>(network, cluster, plain_rates(), job);
  for (const ZeroStage zero : {ZeroStage::kNone, ZeroStage::kOptimizer}) {
    for (const std::int64_t data : {2, 4, 8}) {
      CAPTURE(data);
      job.data = data;
      job.zero = zero;
      CHECK(with_same_passes(job) ==
            with_same_passes(
                {.tensor = 2, .expert = 4, .sequence_parallel = true, .microbatch_size = 1, .expert_tensor = 1}));
      const JobCosts alone = job_costs(network, partition, {cluster, 4, plain_rates()}, job);
      const JobCosts shared = JobPrices(network, {cluster, 4, plain_rates()}, job, passes).costs(partition, 4);
      CHECK(shared.costs.times == alone.costs.times);
      CHECK(shared.costs.memory == alone.costs.memory);
      CHECK(shared.costs.work.model_flops_per_microbatch == alone.costs.work.model_flops_per_microbatch);
      for (std::size_t k = 0; k < network.layers.size(); ++k) {
        CHECK((*shared.least)[k].held_bytes == (*alone.least)[k].held_bytes);
        CHECK((*shared.least)[k].kept_bytes == (*alone.least)[k].kept_bytes);
        CHECK((*shared.least)[k].u == (*alone.least)[k].u);
      }
    }
  }
  // What is gathered and scattered for every microbatch depends on the ranks.
  job.zero = ZeroStage::kWeights;
  CHECK(with_same_passes(job).data == job.data);
}

TEST_CASE("the head makes the last stage longer by its share of a layer") {
  const Network network = load_network("zb-6.2b");
  const Cluster cluster = load_cluster("a100");
  Partition partition = equal_partition(network, 8);
  const JobCosts job = job_costs(network, partition, {cluster, 8, plain_rates()}, {});
  // 30 layers: 3, 4, ..., 4, 3; embedding and head stand for a layer each.
  const double layer = static_cast<double>(job.costs.times[1].f) / 4;
  const double head = static_cast<double>(job.costs.times[7].f) - 3 * layer;
  // By hand: the product of 3 x 1024 tokens, width 4096 and 50257 words at half of the peak; the loss reads and writes
  // 38 bytes per logit; the last norm reads and writes 2 bytes per value.
  const DeviceSpec& device = cluster.devices.front();
  const double logits = 3.0 * 1024 * 50257;
  const double product_s = 2 * 4096 * logits / (0.5 * device.flops_per_s);
  const double moved_s = (38 * logits + 4.0 * 3 * 1024 * 4096) / device.memory_bytes_per_s;
  CHECK(head * 1e-9 == doctest::Approx(product_s + moved_s).epsilon(0.005));
}

TEST_CASE("a fused loss takes less than its many kernels, and one in place as long as they do") {
  const Network network = load_network("llama3-8b");
  const Cluster cluster = load_cluster("h100-1x8");
  const auto head = [&](const Parallelism& job) {
    return job_costs(network, equal_partition(network, 8), {cluster, 8, plain_rates()}, job).costs.times.back();
  };
  const StageTimes many = head({});
  const StageTimes fused = head({.fused_loss = true});
  const double logits = 8192.0 * 128256;
  const double bytes_per_s = cluster.devices.front().memory_bytes_per_s;
  CHECK(static_cast<double>(many.f - fused.f) == doctest::Approx((38 - 6) * logits / bytes_per_s * 1e9).epsilon(1e-3));
  CHECK(static_cast<double>(many.i - fused.i) == doctest::Approx((14 - 4) * logits / bytes_per_s * 1e9).epsilon(1e-3));
  CHECK(head({.loss_in_place = true}).f == many.f);
}

TEST_CASE("modules of layers run again in the backward and nowhere else") {
  const Network network = load_network("deepseek-v3");
  const LayerSpec& attention = network.layers[21];
  const LayerSpec& moe = network.layers[22];
  const auto again = [&](const LayerSpec& layer, RecomputeModule module) {
    Parallelism job;
    job.modules.add(module);
    return layer_kernels(layer, JobShape(network, job)).again;
  };
  REQUIRE(moe.body[1].kind == LayerKind::kMoe);
  CHECK(layer_kernels(moe, JobShape(network, {})).again.list.empty());
  CHECK(again(moe, RecomputeModule::kMoe).flops() == layer_kernels(moe, JobShape(network, {})).forward.flops());
  CHECK(again(moe, RecomputeModule::kMlaUpProj).list.empty());
  // Queries from 1536, keys and values from 512: 128 heads of 192, and of 128 twice.
  CHECK(again(attention, RecomputeModule::kMlaUpProj).flops() ==
        doctest::Approx(2.0 * 4096 * (1536.0 * 128 * 192 + 512.0 * 128 * 256)));
  CHECK(again(moe, RecomputeModule::kNorm).flops() == 0);
  CHECK(again(moe, RecomputeModule::kNorm).list.size() == 1);
}

TEST_CASE("ZeRO-3 waits for the first weights of a pass, whatever is gathered ahead") {
  const Network network = load_network("gpt2-xl");
  const Cluster cluster = load_cluster("a100-8x8");
  const auto forward = [&](const Parallelism& job) {
    return job_costs(network, equal_partition(network, 8), {cluster, 8, plain_rates()}, job).costs.times[3].f;
  };
  const auto once = forward({.data = 8});
  const auto ahead = forward({.data = 8, .zero = ZeroStage::kWeights});
  Parallelism late{.data = 8, .zero = ZeroStage::kWeights};
  late.overlap_weights = false;
  CHECK(ahead > once);
  CHECK(forward(late) > ahead);
}

TEST_CASE("work of a job counts all data ranks, and the peak all devices of a stage") {
  const Network network = load_network("llama3-8b");
  const Cluster cluster = load_cluster("a100-8x8");
  const JobCosts job =
      job_costs(network, equal_partition(network, 4), {cluster, 4}, {.tensor = 2, .data = 8, .microbatch_size = 2});
  CHECK(job.costs.work.samples_per_microbatch == 16);
  CHECK(job.costs.work.tokens_per_microbatch == 16 * 8192);
  CHECK(job.costs.work.peak_flops_per_s == doctest::Approx(16 * 312e12));
  CHECK(job.costs.work.model_flops_per_microbatch == doctest::Approx(8 * model_flops(network, {2, 8192})));
}

TEST_CASE("a job of adapters freezes all other weights, and reduces no shared one") {
  const Network network = load_network("gpt2-small");  // its head shares the embedding
  const Cluster cluster = load_cluster("a100");
  const Partition stages = equal_partition(network, 2);
  const JobCosts all = job_costs(network, stages, {cluster, 2}, {});
  const JobCosts adapters = job_costs(network, stages, {cluster, 2}, {.adapter_rank = 8});
  CHECK(all.costs.tied.size() == 1);
  CHECK(adapters.costs.tied.empty());
  // Of F, I and W, each as long for the weights, W is left out; attention has no W.
  const double share = adapters.costs.work.model_flops_per_microbatch / all.costs.work.model_flops_per_microbatch;
  CHECK(share > 2.0 / 3);
  CHECK(share < 0.75);
  for (std::size_t s = 0; s < 2; ++s) {
    const StageMemory& whole = all.costs.memory[s];
    const StageMemory& adapted = adapters.costs.memory[s];
    CHECK(whole.frozen_bytes == 0);
    CHECK(adapted.frozen_bytes == whole.weight_bytes);
    // Two bytes each: 8 rows of 768 and 8 of 3 x 768 in the attention of each layer.
    CHECK(adapted.updated_bytes() % (2 * 8 * (768 + 3 * 768)) == 0);
    CHECK(adapted.updated_bytes() > 0);
  }
}

TEST_CASE(
    "adapters of all products take and hold more than those of queries, keys and values, and W still less than F") {
  const Network network = load_network("llama2-7b");
  const JobMachine machine{load_cluster("a100-4x8"), 4};
  const Partition stages = equal_partition(network, 4);
  Parallelism job{.tensor = 2, .adapter_rank = 16};
  const JobCosts some = job_costs(network, stages, machine, job);
  job.adapter_targets = LoraTargets::kAll;
  const JobCosts all = job_costs(network, stages, machine, job);
  // By layer and rank, two bytes each: qkv 4096 + 12288 / 2; out 4096 / 2 + 4096; MLP 4096 + 22016 / 2 and 11008 / 2 +
  // 4096.
  constexpr std::int64_t kQkv = 4096 + 6144;
  constexpr std::int64_t kAll = kQkv + 2048 + 4096 + 4096 + 11008 + 5504 + 4096;
  CHECK(some.costs.memory[1].updated_bytes() * kAll == all.costs.memory[1].updated_bytes() * kQkv);
  CHECK(all.costs.memory[1].frozen_bytes == some.costs.memory[1].frozen_bytes);
  CHECK(all.costs.times[1].f > some.costs.times[1].f);
  CHECK(all.costs.times[1].w > some.costs.times[1].w);
  CHECK(all.costs.times[1].w < all.costs.times[1].f / 2);
}

TEST_CASE("no stage takes, holds or keeps less than the sum of what its layers add at least") {
  const Cluster cluster = load_cluster("a100-4x8");
  std::mt19937 random(3);
  for (const char* name : {"gpt2-medium", "llama2-7b", "mixtral-8x7b"}) {
    const Network network = load_network(name);
    const std::size_t all = network.layers.size();
    for (int choice = 0; choice < 24; ++choice) {
      Parallelism job{.tensor = 1 << (choice % 3), .data = 2, .microbatch_size = 1 + choice % 2};
      job.sequence_parallel = job.tensor > 1 && choice % 4 < 2;
      job.zero = static_cast<ZeroStage>(choice % 4);
      job.recompute = static_cast<ActivationRecompute>(choice % 3);
      job.overlap_gradients = choice % 5 == 0;
      job.overlap_parameters = choice % 7 == 0;
      const JobPrices prices(network, {cluster, 1, std::nullopt}, job);
      for (int k = 0; k < 12; ++k) {
        const std::size_t begin = k == 0 ? 0 : random() % (all - 1);
        const std::size_t end = k == 0 ? all : begin + 1 + random() % (all - begin);
        Partition cut{{0}};
        for (const std::size_t at : {begin, end, all}) {
          if (at > cut.bounds.back()) cut.bounds.push_back(at);
        }
        const JobCosts costs = prices.costs(cut, 1);
        REQUIRE(costs.least);
        for (std::size_t s = 0; s < cut.num_stages(); ++s) {
          LayerLeast sum;
          for (std::size_t l = cut.range(s).begin; l < cut.range(s).end; ++l) sum += (*costs.least)[l];
          const StageTimes& times = costs.costs.times[s];
          const StageMemory& memory = costs.costs.memory[s];
          CHECK(sum.alone.f > 0);
          CHECK(times.f >= sum.alone.f);
          CHECK(times.b >= sum.alone.b);
          CHECK(times.i >= sum.alone.i);
          CHECK(times.w >= sum.alone.w);
          CHECK(times.f - times.f_comm.shown >= sum.paired.f);
          CHECK(times.b - times.b_comm.shown >= sum.paired.b);
          CHECK(times.i - times.i_comm.shown >= sum.paired.i);
          CHECK(times.w - times.w_comm.shown >= sum.paired.w);
          CHECK(times.u >= sum.u);
          CHECK(memory.weight_bytes + memory.gradient_bytes + memory.optimizer_bytes >= sum.held_bytes);
          CHECK(kept_bytes(memory, false) >= sum.kept_bytes);
          // Messages are priced from the ends of a stage alone: the same as those of the stage as a whole.
          const std::int64_t parts = job.scatter_gather || job.sequence_parallel ? job.tensor : 1;
          const StageMemory whole =
              stage_memory(network.layers, cut.range(s), {job.microbatch_size, network.sequence}, job.precision);
          CHECK(memory.output_bytes == (whole.output_bytes + parts - 1) / parts);
          CHECK(memory.input_bytes == (whole.input_bytes + parts - 1) / parts);
          CHECK(memory.input_grad_bytes == (whole.input_grad_bytes + parts - 1) / parts);
          CHECK(memory.output_grad_bytes == (whole.output_grad_bytes + parts - 1) / parts);
        }
      }
    }
  }
}

}  // namespace plumb

TEST_SUITE_END();
