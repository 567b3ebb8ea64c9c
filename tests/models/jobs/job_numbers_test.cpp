// What jobs on networks of every kind cost, by every field of `Parallelism`: a line for each in
// tests/golden/jobs.txt. Where a model is changed on purpose, the lines say which jobs it concerns.
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "models/cluster/cluster_io.hpp"
#include "models/ground/error.hpp"
#include "models/import/load_network.hpp"
#include "models/jobs/job_costs.hpp"
#include "models/stages/partition.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/text_sum.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb::testing {
namespace {

struct Variant {
  std::string name;
  Parallelism job;
};

std::vector<Variant> variants() {
  using P = Parallelism;
  std::vector<Variant> all;
  const auto add = [&](const std::string& name, const std::function<void(P&)>& change) {
    P job;
    job.microbatch_size = 2;
    job.sequence = 1024;
    change(job);
    all.push_back({name, job});
  };
  add("plain", [](P&) {});
  add("tensor 2", [](P& p) { p.tensor = 2; });
  add("tensor 4, sequence", [](P& p) {
    p.tensor = 4;
    p.sequence_parallel = true;
  });
  add("tensor 2, overlapped", [](P& p) {
    p.tensor = 2;
    p.sequence_parallel = p.overlap_products = p.overlap_tensor = true;
  });
  add("tensor 16", [](P& p) {
    p.tensor = 16;
    p.scatter_gather = false;
  });
  add("context 2", [](P& p) { p.context = 2; });
  add("context 4 by heads", [](P& p) {
    p.context = 4;
    p.context_by_heads = true;
  });
  add("data 4", [](P& p) { p.data = 4; });
  add("data 4, overlapped", [](P& p) {
    p.data = 4;
    p.overlap_gradients = true;
  });
  for (const ZeroStage zero : {ZeroStage::kOptimizer, ZeroStage::kGradients, ZeroStage::kWeights}) {
    const std::string stage = std::to_string(static_cast<int>(zero));
    add("data 4, zero " + stage, [&](P& p) {
      p.data = 4;
      p.zero = zero;
    });
    add("data 16, zero " + stage + " in groups", [&](P& p) {
      p.data = 16;
      p.zero = zero;
      p.shard_groups = ShardGroups::of(8);
      p.overlap_parameters = true;
    });
  }
  add("zero 3 without prefetch", [](P& p) {
    p.data = 4;
    p.zero = ZeroStage::kWeights;
    p.overlap_weights = false;
  });
  for (const ActivationRecompute recompute :
       {ActivationRecompute::kSelective, ActivationRecompute::kFull, ActivationRecompute::kFitted}) {
    add("recompute " + std::to_string(static_cast<int>(recompute)), [&](P& p) { p.recompute = recompute; });
  }
  add("recompute of two layers", [](P& p) {
    p.recompute = ActivationRecompute::kFull;
    p.recompute_layers = 2;
  });
  for (std::size_t module = 0; module < kRecomputeModuleCount; ++module) {
    add("recompute of module " + std::to_string(module),
        [&](P& p) { p.modules.add(static_cast<RecomputeModule>(module)); });
  }
  for (std::size_t format = 1; format < kMatrixFormatCount; ++format) {
    add("format " + std::to_string(format), [&](P& p) { p.format = static_cast<MatrixFormat>(format); });
    add("format " + std::to_string(format) + ", tensor 2, zero 3", [&](P& p) {
      p.format = static_cast<MatrixFormat>(format);
      p.formatted_head = p.low_precision_dispatch = p.sequence_parallel = true;
      p.tensor = p.data = 2;
      p.zero = ZeroStage::kWeights;
    });
  }
  add("32 bits", [](P& p) { p.precision = Precision{}; });
  add("scores are kept", [](P& p) { p.flash_attention = false; });
  add("scores are kept, dropout", [](P& p) {
    p.flash_attention = false;
    p.dropout = true;
    p.recompute = ActivationRecompute::kSelective;
  });
  add("dropout", [](P& p) { p.dropout = true; });
  add("no dropout", [](P& p) { p.dropout = false; });
  add("fused loss", [](P& p) { p.fused_loss = true; });
  add("loss in place", [](P& p) {
    p.loss_in_place = true;
    p.padded_vocabulary = false;
  });
  for (const WeightGradients gradients :
       {WeightGradients::kAdded, WeightGradients::kPlaceholders, WeightGradients::kSummed}) {
    add("weight gradients " + std::to_string(static_cast<int>(gradients)),
        [&](P& p) { p.weight_gradients = gradients; });
  }
  add("expert 2", [](P& p) {
    p.expert = 2;
    p.data = 2;
  });
  add("expert 4, capacity", [](P& p) {
    p.expert = 4;
    p.data = 4;
    p.expert_capacity = 1.25;
    p.overlap_experts = true;
  });
  add("expert 8, once per node", [](P& p) {
    p.expert = 8;
    p.data = 16;
    p.dispatcher = Dispatcher::kOncePerNode;
    p.expert_imbalance = 1.5;
  });
  add("expert 2, tensor 2, whole experts", [](P& p) {
    p.expert = 2;
    p.data = p.tensor = 2;
    p.sequence_parallel = true;
    p.expert_tensor = 1;
  });
  add("blocking launches", [](P& p) {
    p.blocking_launches = true;
    p.gradient_passes = GradientPasses::kScaled;
  });
  add("captured graphs", [](P& p) {
    p.captured = CapturedGraphs::kAll;
    p.gradient_passes = GradientPasses::kClipped;
  });
  add("captured dense graphs", [](P& p) { p.captured = CapturedGraphs::kDense; });
  add("adapters", [](P& p) { p.adapter_rank = 8; });
  add("compressed gradients", [](P& p) {
    p.data = 8;
    p.gradient_share = 0.25;
  });
  add("compressed activations", [](P& p) {
    p.activation_bits = 4;
    p.activation_grad_bits = 8;
  });
  add("storage updates", [](P& p) { p.storage_bytes_per_s = 1e9; });
  add("zero by layer", [](P& p) {
    p.data = 4;
    p.zero = ZeroStage::kOptimizer;
    p.zero_by_layer = true;
  });
  add("offload by stage", [](P& p) { p.offload_by_stage = true; });
  return all;
}

void add_number(std::string& text, double value) {
  char out[40];
  std::snprintf(out, sizeof out, "%.9g ", value);
  text += out;
}

template <class... Values>
void add_numbers(std::string& text, Values... values) {
  ((text += std::to_string(values) + " "), ...);
  text += "\n";
}

std::string listing_of(const JobCosts& job) {
  std::string text;
  for (StageTimes times : job.costs.times) {
    for (const Ticks* time : times_per_microbatch(times)) add_numbers(text, *time);
    add_numbers(text, times.u, times.x, times.evict, times.load, times.all_reduce);
  }
  for (const StageMemory& memory : job.costs.memory) {
    add_numbers(text, memory.weight_bytes, memory.frozen_bytes, memory.gradient_bytes, memory.optimizer_bytes);
    add_numbers(text, memory.input_bytes, static_cast<int>(memory.input_last_use), memory.output_bytes,
                memory.output_grad_bytes, memory.input_grad_bytes, memory.workspace_f_bytes, memory.workspace_b_bytes,
                memory.workspace_i_bytes, memory.workspace_w_bytes, memory.key_grads_made_bytes,
                memory.key_grads_freed_bytes, memory.logit_bytes, memory.sent_output_bytes,
                memory.sent_input_grad_bytes);
    for (const StashTensor& tensor : memory.stash) {
      text += tensor.name + " ";
      add_numbers(text, tensor.bytes, static_cast<int>(tensor.made_by), static_cast<int>(tensor.last_use));
    }
  }
  for (const UpdateSeconds& update : job.updates) {
    for (const double seconds : {update.reduce_s, update.optimizer_s, update.gather_s}) add_number(text, seconds);
  }
  for (const TiedWeight& tied : job.costs.tied) add_numbers(text, index(tied.first), index(tied.second), tied.bytes);
  for (const DeviceSpec& device : job.pipeline.devices) add_number(text, device.flops_per_s * device.speed);
  for (const double figure : {job.pipeline.intra_node.bytes_per_s, job.pipeline.inter_node.bytes_per_s,
                              job.pipeline.host_link.bytes_per_s, job.pipeline.host_link.host_bytes_per_s,
                              job.costs.work.model_flops_per_microbatch, job.costs.work.peak_flops_per_s}) {
    add_number(text, figure);
  }
  add_numbers(text, job.stage_update, job.costs.work.samples_per_microbatch, job.costs.work.tokens_per_microbatch);
  return text;
}

/// A listing of the costs of two stages, or why there are none.
std::string listing_of(const Network& network, const Cluster& cluster, const Parallelism& job) {
  try {
    std::string text = listing_of(job_costs(network, equal_partition(network, 2), {cluster, 2}, job));
    for (const std::int64_t time : job_layer_times(network, {cluster, 2}, job)) add_numbers(text, time);
    return text;
  } catch (const Error& error) {
    return error.what();
  }
}

/// The network with so few of its layers that it is priced in a moment: its ends, and as many behind the first one.
Network shortened(Network network, std::size_t layers) {
  auto& all = network.layers;
  if (all.front().kind != LayerKind::kEmbedding) return network;
  if (all.size() > layers + 3) all.erase(all.begin() + 1 + static_cast<std::ptrdiff_t>(layers), all.end() - 2);
  return network;
}

}  // namespace

TEST_CASE("jobs of every kind cost what they cost before, by every way to divide and to compute them") {
  std::string text;
  const std::vector<std::pair<std::string, std::string>> machines{
      {"gpt2-medium", "a100-4x8"},      {"llama3-8b", "h100-4x8"},    {"mixtral-8x7b", "h100-4x8"},
      {"deepseek-v3", "h200-4x8"},      {"gpt-oss-120b", "b200-4x8"}, {"nemotron-3-nano", "mi300x-4x8"},
      {"nemotron-3-super", "h100-4x8"}, {"resnet-20", "v100-4x8"}};
  for (const auto& [name, machine] : machines) {
    const Network network = shortened(load_network(name), 8);
    const Cluster cluster = load_cluster(machine);
    for (const Variant& variant : variants()) {
      Parallelism job = variant.job;
      if (network.layers.front().kind != LayerKind::kEmbedding) job.sequence = 0;  // of images
      TextSum sum;
      sum.add(listing_of(network, cluster, job));
      text += name + ", " + variant.name + ": " + sum.text() + "\n";
    }
  }
  CHECK(text == golden("jobs.txt", text));
}

}  // namespace plumb::testing

TEST_SUITE_END();
