#include "models/jobs/job_memory.hpp"

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "models/import/load_network.hpp"
#include "models/jobs/activation_peaks.hpp"
#include "models/stages/network_costs.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb {
namespace {

/// The two residual layers of a transformer layer of a built-in GPT.
std::vector<LayerSpec> transformer_layer(const Network& network) { return {network.layers[1], network.layers[2]}; }

std::int64_t kept_by_layer(const Network& network, const Parallelism& job) {
  const std::vector<LayerSpec> layers = transformer_layer(network);
  return stage_kept(layers, JobShape(network, job)).from_forward();
}

std::int64_t parameters_on_device(const Network& network, const Parallelism& job) {
  const JobShape shape(network, job);
  std::int64_t sum = 0;
  for (const LayerSpec& layer : network.layers) sum += device_parameters(layer, shape).all();
  return sum;
}

}  // namespace

TEST_CASE("parameters of published networks, exactly") {
  CHECK(parameter_count(load_network("gpt3-175b")) == 174'604'259'328);
  CHECK(parameter_count(load_network("megatron-22b")) == 22'074'273'792);
  CHECK(parameter_count(load_network("llama2-7b")) == 6'738'415'616);
  CHECK(parameter_count(load_network("llama2-13b")) == 13'015'864'320);
  CHECK(parameter_count(load_network("llama2-70b")) == 68'976'648'192);
  CHECK(parameter_count(load_network("llama3-8b")) == 8'030'261'248);
  CHECK(parameter_count(load_network("llama3-70b")) == 70'553'706'496);
  CHECK(parameter_count(load_network("deepseek-v3")) == 671'026'404'352);
  CHECK(parameter_count(load_network("mixtral-8x7b")) == 46'702'792'704);
  CHECK(parameter_count(load_network("qwen3-8b")) == 8'190'735'360);
  CHECK(parameter_count(load_network("qwen3-30b-a3b")) == 30'532'122'624);
  CHECK(parameter_count(load_network("bert-48")) == 669'790'012);
  CHECK(parameter_count(load_network("gpt2-64")) == 1'389'327'360);
  CHECK(parameter_count(load_network("gpt2-xl")) == 1'557'611'200);
  CHECK(parameter_count(load_network("resnet-50")) == 25'557'032);
  CHECK(parameter_count(load_network("vgg-16")) == 138'357'544);
}

TEST_CASE("pieces of DeepSeek-V3 have the published sizes") {
  const Network network = load_network("deepseek-v3");
  const JobShape shape(network, {});
  const LayerSpec& attention = network.layers[1].body[1];
  CHECK(device_parameters(attention, shape).all() == 187'107'328);
  CHECK(device_parameters(network.layers[2].body[1], shape).all() == 396'361'728);
  const LayerSpec& moe = network.layers[8].body[1];
  CHECK(device_parameters(moe, shape).expert == 256 * std::int64_t{44'040'192});
  CHECK(device_parameters(moe, shape).dense == 44'040'192 + 7168 * 256);
}

TEST_CASE("activations of a transformer layer are those of Korthikanti et al., table 2, exactly") {
  for (const char* name : {"gpt3-175b", "megatron-22b"}) {
    CAPTURE(name);
    const Network network = load_network(name);
    const std::int64_t h = network.layers[1].body[1].width;
    const std::int64_t a = network.layers[1].body[1].heads;
    const std::int64_t s = network.sequence;
    for (const std::int64_t b : {1, 4}) {
      for (const std::int64_t t : {1, 8}) {
        CAPTURE(b);
        CAPTURE(t);
        const std::int64_t sbh = s * b * h;
        const std::int64_t scores = 5 * a * s * s * b;
        Parallelism job{.tensor = t, .microbatch_size = b, .flash_attention = false};
        CHECK(kept_by_layer(network, job) == 10 * sbh + 24 * sbh / t + scores / t);
        job.recompute = ActivationRecompute::kSelective;
        CHECK(kept_by_layer(network, job) == 10 * sbh + 24 * sbh / t);
        job.recompute = ActivationRecompute::kFull;
        CHECK(kept_by_layer(network, job) == 2 * sbh);
        job.sequence_parallel = true;
        CHECK(kept_by_layer(network, job) == 2 * sbh / t);
        job.recompute = ActivationRecompute::kSelective;
        CHECK(kept_by_layer(network, job) == 34 * sbh / t);
        job.recompute = ActivationRecompute::kNone;
        CHECK(kept_by_layer(network, job) == (34 * sbh + scores) / t);
      }
    }
  }
}

TEST_CASE("the worked example: GPT-3 keeps 855.6 MB and 2013 MB of scores per layer") {
  const Network network = load_network("gpt3-175b");
  Parallelism job{.recompute = ActivationRecompute::kSelective, .flash_attention = false};
  CHECK(kept_by_layer(network, job) == 855'638'016);
  job.recompute = ActivationRecompute::kNone;
  CHECK(kept_by_layer(network, job) - 855'638'016 == 2'013'265'920);
}

TEST_CASE("what B makes for W is 18 sbh, and what W reads of the forward 14 sbh") {
  const Network network = load_network("gpt3-175b");
  const JobShape shape(network, {.flash_attention = false});
  const std::vector<LayerSpec> layers = transformer_layer(network);
  const KeptBytes kept = stage_kept(layers, shape);
  const std::int64_t sbh = 2048 * std::int64_t{12288};
  CHECK(kept.for_weight_grad == 14 * sbh);
  CHECK(kept.made_by_input_grad == 18 * sbh);
}

TEST_CASE("tensor ranks divide matrices, but not norms and output biases") {
  const Network network = load_network("gpt3-175b");
  const std::int64_t h = 12288;
  const std::int64_t matrices = 96 * 12 * h * h;
  const std::int64_t whole = 96 * (4 * h + 2 * h) + 2 * h + 2048 * h;
  const std::int64_t divided_biases = 96 * (3 * h + 4 * h);
  const std::int64_t table = (50257 + 7) / 8 * h;  // of the embedding, and of the head's copy
  CHECK(parameters_on_device(network, {.tensor = 8}) == matrices / 8 + divided_biases / 8 + whole + 2 * table);
}

TEST_CASE("18 bytes per parameter; ZeRO divides optimizer, gradients, weights") {
  const Network network = load_network("gpt3-175b");
  const std::vector<LayerSpec> layers = transformer_layer(network);
  const std::int64_t n = 12 * std::int64_t{12288} * 12288 + 13 * 12288;
  const auto memory = [&](ZeroStage zero) {
    return job_stage_memory(layers, JobShape(network, {.data = 4, .zero = zero}));
  };
  CHECK(memory(ZeroStage::kNone).weight_bytes == 2 * n);
  CHECK(memory(ZeroStage::kNone).gradient_bytes == 4 * n);
  CHECK(memory(ZeroStage::kNone).optimizer_bytes == 12 * n);
  CHECK(memory(ZeroStage::kOptimizer).optimizer_bytes == 3 * n);
  CHECK(memory(ZeroStage::kOptimizer).gradient_bytes == 4 * n);
  CHECK(memory(ZeroStage::kGradients).gradient_bytes == n);
  CHECK(memory(ZeroStage::kGradients).weight_bytes == 2 * n);
  CHECK(memory(ZeroStage::kWeights).weight_bytes == n / 2);
}

TEST_CASE("a shard group divides weights, gradients and optimizer state by its ranks, not by all") {
  const Network network = load_network("gpt3-175b");
  const std::vector<LayerSpec> layers = transformer_layer(network);
  const std::int64_t n = 12 * std::int64_t{12288} * 12288 + 13 * 12288;
  const StageMemory memory = job_stage_memory(
      layers, JobShape(network, {.data = 32, .zero = ZeroStage::kWeights, .shard_groups = ShardGroups::of(8)}));
  CHECK(memory.weight_bytes == 2 * n / 8);
  CHECK(memory.gradient_bytes == 4 * n / 8);
  CHECK(memory.optimizer_bytes == 12 * n / 8);
}

TEST_CASE("weights, gradients and optimizer state are each divided by the ranks of their own shard group (AMSP)") {
  // arXiv 2311.00257 writes the three factors apart: 2 bytes of weights by w, gradients by g (here 4 bytes each), 12 of
  // state by o.
  const Network network = load_network("gpt3-175b");
  const std::vector<LayerSpec> layers = transformer_layer(network);
  const std::int64_t n = 12 * std::int64_t{12288} * 12288 + 13 * 12288;
  const auto memory = [&](ZeroStage zero, ShardGroups groups) {
    return job_stage_memory(layers, JobShape(network, {.data = 64, .zero = zero, .shard_groups = groups}));
  };
  const StageMemory three = memory(ZeroStage::kWeights, {2, 8, 32});
  CHECK(three.weight_bytes == 2 * n / 2);
  CHECK(three.gradient_bytes == 4 * n / 8);
  CHECK(three.optimizer_bytes == 12 * n / 32);
  const StageMemory rest = memory(ZeroStage::kWeights, {.weights = 8});
  CHECK(rest.weight_bytes == 2 * n / 8);
  CHECK(rest.gradient_bytes == 4 * n / 64);
  CHECK(rest.optimizer_bytes == 12 * n / 64);
  // Groups of one are ZeRO 1 and ZeRO 2.
  CHECK(memory(ZeroStage::kWeights, {1, 1, 64}).weight_bytes == memory(ZeroStage::kOptimizer, {}).weight_bytes);
  CHECK(memory(ZeroStage::kWeights, {1, 1, 64}).gradient_bytes == memory(ZeroStage::kOptimizer, {}).gradient_bytes);
  CHECK(memory(ZeroStage::kWeights, {1, 64, 64}).gradient_bytes == memory(ZeroStage::kGradients, {}).gradient_bytes);
}

TEST_CASE("experts are divided over expert ranks") {
  const Network network = load_network("mixtral-8x7b");
  const LayerSpec& moe = network.layers[2].body[1];
  const std::int64_t one = 3 * std::int64_t{4096} * 14336;
  const auto on_device = [&](const Parallelism& job) { return device_parameters(moe, JobShape(network, job)); };
  CHECK(on_device({}).expert == 8 * one);
  CHECK(on_device({.expert = 4, .data = 4}).expert == 2 * one);
  CHECK(on_device({.tensor = 2, .expert = 4, .data = 4}).expert == one);
  CHECK(on_device({.expert = 4, .data = 4}).dense == 8 * 4096);
}

TEST_CASE("shard groups and compressed gradients that mean nothing are refused with one line") {
  const auto refused = [](const char* network, const Parallelism& job, const char* why) {
    CHECK_THROWS_WITH_AS(check_parallelism(load_network(network), job), why, Error);
  };
  refused("gpt2-xl", {.data = 8, .zero = ZeroStage::kOptimizer, .shard_groups = ShardGroups::of(3)},
          "parallelism: shard group (3) must divide context x data (8)");
  refused("gpt2-xl", {.data = 8, .shard_groups = ShardGroups::of(4)},
          "parallelism: shard group (4): expected a ZeRO stage of at least 1");
  refused("mixtral-8x7b", {.data = 8, .zero = ZeroStage::kOptimizer, .shard_groups = ShardGroups::of(4)},
          "parallelism: shard group (4): expected a network without experts, whose copies are other ranks");
  refused("gpt2-xl", {.data = 8, .zero = ZeroStage::kWeights, .shard_groups = {4, 2, 8}},
          "parallelism: shard group (4) of weights must divide that of gradients (2): expected weights in gradients in "
          "optimizer");
  refused(
      "gpt2-xl", {.data = 8, .zero = ZeroStage::kWeights, .shard_groups = {.optimizer = 4}},
      "parallelism: shard group (8) of gradients must divide that of optimizer (4): expected weights in gradients in "
      "optimizer");
  refused("gpt2-xl", {.data = 8, .gradient_share = 0},
          "parallelism: expected a share of the bytes of gradients above 0 and up to 1");
  refused("gpt2-xl", {.data = 8, .zero = ZeroStage::kGradients, .gradient_share = 0.5},
          "parallelism: compressed gradients: expected a ZeRO stage of at most 1, which reduces them once an update");
}

TEST_CASE("a job that does not divide is refused with one line") {
  const Network network = load_network("llama3-8b");
  CHECK_THROWS_WITH_AS(check_parallelism(network, {.tensor = 3}),
                       "tp 3 does not divide the 32 attention heads of layer 'residual1.attention1'", Error);
  CHECK_THROWS_WITH_AS(check_parallelism(network, {.expert = 2}),
                       "network 'llama3-8b': has no experts, expected an expert degree of 1, found 2", Error);
  CHECK_THROWS_AS(check_parallelism(load_network("resnet-50"), {.tensor = 2}), Error);
  CHECK_THROWS_AS(check_parallelism(load_network("mixtral-8x7b"), {.expert = 8, .data = 4}), Error);
  CHECK_THROWS_AS(check_parallelism(network, {.context = 3}), Error);
  for (const Parallelism& none : std::vector<Parallelism>{{.tensor = 0}, {.context = 0}, {.expert = 0}, {.data = 0}}) {
    CHECK_THROWS_WITH_AS(check_parallelism(network, none), "parallelism: expected degrees of at least 1, found 0",
                         Error);
  }
}

}  // namespace plumb

TEST_SUITE_END();
