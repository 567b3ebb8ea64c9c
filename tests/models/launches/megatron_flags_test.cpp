// What each option of Megatron-LM means (megatron/training/arguments.py, core_r0.15), with the defaults that stand
// there.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "models/launches/read_launch.hpp"
#include "models/launches/settings.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb {
namespace {

/// Eight layers of width 64 and whatever else a script says.
LaunchJob eight_layers(const std::string& options) {
  return read_launch(
      "torchrun pretrain_gpt.py --num-layers 8 --hidden-size 64 --num-attention-heads 4 --seq-length 16 "
      "--vocab-size 100 --micro-batch-size 1 --global-batch-size 64 " +
          options,
      "x.sh");
}

Parallelism ranks_of(const std::string& options) { return eight_layers(options).parallelism; }
/// A layer inside of a block: 0 is the embedding, 1 attention, 2 an MLP, ...
LayerSpec block_layer(const std::string& options, std::size_t block) {
  return eight_layers(options).network->layers[block].body[1];
}
std::string refused_by(const std::string& options) {
  return testing::error_message([&] { eight_layers(options); });
}

}  // namespace

TEST_CASE("16 bits, their gradients and the optimizer's state are as the precision options say") {
  CHECK(ranks_of("").precision == Precision{});
  CHECK(ranks_of("--bf16").precision == kMixedPrecision);
  CHECK(ranks_of("--bf16").precision.gradient_bytes == 4);
  CHECK(ranks_of("--fp16").precision.gradient_bytes == 2);
  CHECK(ranks_of("--fp16 --accumulate-allreduce-grads-in-fp32").precision.gradient_bytes == 4);
  CHECK(ranks_of("--bf16 --grad-reduce-in-bf16").precision.gradient_bytes == 2);
  CHECK(eight_layers("--fp16").half);
  CHECK_FALSE(eight_layers("--bf16").half);
  CHECK(ranks_of("--bf16").precision.optimizer_bytes == 12);
  const std::string aware = "--bf16 --use-precision-aware-optimizer ";
  CHECK(ranks_of(aware).precision.optimizer_bytes == 12);
  CHECK(ranks_of(aware + "--main-params-dtype fp16").precision.optimizer_bytes == 2 + 4 + 4);
  CHECK(ranks_of(aware + "--exp-avg-dtype fp8 --exp-avg-sq-dtype bf16").precision.optimizer_bytes == 4 + 1 + 2);
  CHECK(ranks_of(aware + "--exp-avg-dtype fp32").precision.optimizer_bytes == 12);
  CHECK(ranks_of(aware + "--main-grads-dtype bf16").precision.gradient_bytes == 2);
  CHECK(ranks_of("--bf16 --main-grads-dtype bf16").precision.gradient_bytes == 4);  // without the optimizer
}

TEST_CASE("formats of 8 and 4 bits go by their recipe") {
  CHECK(ranks_of("--bf16").format == MatrixFormat::kBf16);
  CHECK(ranks_of("--bf16 --fp8-format hybrid").format == MatrixFormat::kFp8);
  CHECK(ranks_of("--bf16 --fp8-format hybrid --fp8-recipe delayed").format == MatrixFormat::kFp8);
  CHECK(ranks_of("--bf16 --fp8-format hybrid --fp8-recipe tensorwise").format == MatrixFormat::kFp8Current);
  CHECK(ranks_of("--bf16 --fp8-format e4m3 --fp8-recipe blockwise").format == MatrixFormat::kFp8Block);
  CHECK(ranks_of("--bf16 --fp8-format e4m3 --fp8-recipe mxfp8").format == MatrixFormat::kMxFp8);
  CHECK(ranks_of("--bf16 --fp8-format false").format == MatrixFormat::kBf16);
  CHECK(ranks_of("--bf16 --fp4-format e2m1").format == MatrixFormat::kNvFp4);
  CHECK(refused_by("--bf16 --fp8-format hybrid --fp8-recipe own") ==
        "x.sh:1: fp8_recipe: expected delayed, tensorwise, blockwise or mxfp8, found 'own'");
}

TEST_CASE("a distributed optimizer is ZeRO 1, FSDP whatever its strategy says") {
  CHECK(ranks_of("").zero == ZeroStage::kNone);
  CHECK(ranks_of("--use-distributed-optimizer").zero == ZeroStage::kOptimizer);
  CHECK(ranks_of("--use-megatron-fsdp").zero == ZeroStage::kWeights);
  const std::string strategy = "--use-megatron-fsdp --data-parallel-sharding-strategy ";
  CHECK(ranks_of(strategy + "no_shard").zero == ZeroStage::kNone);
  CHECK(ranks_of(strategy + "optim").zero == ZeroStage::kOptimizer);
  CHECK(ranks_of(strategy + "optim_grads").zero == ZeroStage::kGradients);
  CHECK(ranks_of(strategy + "optim_grads_params").zero == ZeroStage::kWeights);
  CHECK(ranks_of("--zero-stage 2").zero == ZeroStage::kGradients);
  CHECK(ranks_of("--zero-stage 3").zero == ZeroStage::kWeights);
  CHECK(refused_by("--zero-stage 4") == "x.sh:1: zero_stage: expected 0 to 3");
  CHECK(ranks_of("--overlap-grad-reduce").overlap_gradients);
  CHECK_FALSE(ranks_of("").overlap_gradients);
  CHECK(ranks_of("--overlap-param-gather").overlap_parameters);
  const std::string two = "--tensor-model-parallel-size 2 --tp-comm-overlap ";
  CHECK_FALSE(ranks_of(two).overlap_products);
  CHECK(ranks_of(two + "--sequence-parallel").overlap_products);
  CHECK_FALSE(ranks_of("--sequence-parallel").sequence_parallel);  // of one rank
}

TEST_CASE("attention is fused unless a script says otherwise, dropout is 0.1 unless both are 0") {
  CHECK(ranks_of("").flash_attention);
  CHECK_FALSE(ranks_of("--attention-backend unfused").flash_attention);
  CHECK_FALSE(ranks_of("--transformer-impl local").flash_attention);
  CHECK(ranks_of("--transformer-impl local --use-flash-attn").flash_attention);
  CHECK(ranks_of("").dropout == true);
  CHECK(ranks_of("--attention-dropout 0").dropout == true);
  CHECK(ranks_of("--hidden-dropout 0.0").dropout == true);
  CHECK(ranks_of("--attention-dropout 0 --hidden-dropout 0.0").dropout == false);
  CHECK(ranks_of("--cross-entropy-loss-fusion --cross-entropy-fusion-impl te").fused_loss);
  CHECK_FALSE(ranks_of("--cross-entropy-loss-fusion").fused_loss);
  CHECK_FALSE(ranks_of("--cross-entropy-fusion-impl te").fused_loss);
  CHECK(ranks_of("").captured == CapturedGraphs::kNone);
  CHECK(ranks_of("--cuda-graph-impl none").captured == CapturedGraphs::kNone);
  CHECK(ranks_of("--cuda-graph-impl local").captured == CapturedGraphs::kAll);
  CHECK(ranks_of("--cuda-graph-impl local --cuda-graph-scope full_iteration").captured == CapturedGraphs::kAll);
  CHECK(ranks_of("--cuda-graph-impl transformer_engine --cuda-graph-scope attn").captured == CapturedGraphs::kDense);
}

TEST_CASE("what is computed again is all of a layer, the softmax, or modules by name") {
  CHECK(ranks_of("").recompute == ActivationRecompute::kNone);
  CHECK(ranks_of("--recompute-granularity full").recompute == ActivationRecompute::kFull);
  const std::string block = "--recompute-granularity full --recompute-method block --recompute-num-layers ";
  CHECK(ranks_of(block + "3").recompute == ActivationRecompute::kFull);
  CHECK(ranks_of(block + "3").recompute_layers == 3);
  CHECK(ranks_of(block + "0").recompute == ActivationRecompute::kNone);
  CHECK(ranks_of("--recompute-granularity full --recompute-method uniform --recompute-num-layers 2").recompute_layers ==
        0);
  const std::string selective = "--recompute-granularity selective ";
  CHECK(ranks_of(selective).recompute == ActivationRecompute::kSelective);
  const Parallelism norms = ranks_of(selective + "--recompute-modules layernorm mla_up_proj");
  CHECK(norms.recompute == ActivationRecompute::kNone);
  CHECK(norms.modules.has(RecomputeModule::kNorm));
  CHECK(norms.modules.has(RecomputeModule::kMlaUpProj));
  CHECK_FALSE(norms.modules.has(RecomputeModule::kActivation));
  CHECK_FALSE(norms.modules.has(RecomputeModule::kMoe));
  const Parallelism core = ranks_of(selective + "--recompute-modules core_attn moe_act");
  CHECK(core.recompute == ActivationRecompute::kSelective);
  CHECK(core.modules.has(RecomputeModule::kActivation));
  CHECK_FALSE(core.modules.has(RecomputeModule::kNorm));
  CHECK(ranks_of(selective + "--recompute-modules [moe,az_z]").modules.has(RecomputeModule::kMoe));
  CHECK(refused_by("--recompute-granularity some") ==
        "x.sh:1: recompute_granularity: expected full or selective, found 'some'");
}

TEST_CASE("schedules are 1F1B, interleaved, or those of the fork for zero bubbles") {
  const std::string two = "--pipeline-model-parallel-size 2 ";
  CHECK(eight_layers(two).schedule == "1f1b");
  const LaunchJob interleaved = eight_layers(two + "--num-layers-per-virtual-pipeline-stage 2");
  CHECK(interleaved.schedule == "interleaved");
  CHECK(interleaved.chunks == 2);
  CHECK(interleaved.schedule_options.at("group") == "2");
  const std::string pairs = "--num-virtual-stages-per-pipeline-rank 2 --microbatch-group-size-per-vp-stage 4 ";
  CHECK(eight_layers(two + pairs).chunks == 2);
  CHECK_FALSE(interleaved.schedule_options.contains("ahead"));
  const auto bubbles = [&](const std::string& options) {
    return eight_layers(two + "--enable-zero-bubble " + options);
  };
  CHECK(bubbles("").schedule == "zb-1p");
  CHECK(bubbles("").chunks == 1);
  CHECK(bubbles("--zero-bubble-max-pending-backward 3").schedule == "zb-1p");
  CHECK(bubbles("--zero-bubble-max-pending-backward 4").schedule == "zb-2p");  // twice the ranks
  CHECK(bubbles("--zero-bubble-max-pending-backward auto").schedule == "zb-1p");
  CHECK(bubbles("--zero-bubble-v-schedule").schedule == "zb-v");
  CHECK(bubbles("--zero-bubble-v-schedule").chunks == 2);
  CHECK(bubbles("--zero-bubble-v-schedule --zero-bubble-v-schedule-mem-setup half").schedule == "v-half");
  CHECK(bubbles("--zero-bubble-v-schedule --zero-bubble-v-schedule-mem-setup min").schedule == "v-min");
}

TEST_CASE("experts are in every layer, every n-th one, or those of a list") {
  const std::string experts = "--num-experts 4 ";
  const auto sparse = [&](const std::string& options) {
    const LaunchJob job = eight_layers(experts + options);
    std::string layers;
    for (std::size_t k = 0; k < 8; ++k) {
      layers += job.network->layers[2 + 2 * k].body[1].kind == LayerKind::kMoe ? '1' : '0';
    }
    return layers;
  };
  CHECK(sparse("") == "11111111");
  CHECK(sparse("--moe-layer-freq 1") == "11111111");
  CHECK(sparse("--moe-layer-freq 3") == "10010010");
  CHECK(sparse("--moe-layer-freq '([0]*3+[1]*5)'") == "00011111");
  CHECK(sparse("--moe-layer-freq '([0,1]*4)'") == "01010101");
  CHECK(sparse("--moe-layer-freq '[1]*1+[0]*6+[1]*1'") == "10000001");
  CHECK(sparse("--moe-layer-freq [1,1,0,0,1,0,1,1]") == "11001011");
  CHECK(refused_by(experts + "--moe-layer-freq '([0]*3+[1]*6)'") ==
        "x.sh:1: moe_layer_freq: expected 8 layers, found 9");
  CHECK(refused_by(experts + "--moe-layer-freq '([0]*9999)'") ==
        "x.sh:1: moe_layer_freq: expected at most 4096 layers");
  CHECK(block_layer("--num-experts 1", 2).kind == LayerKind::kMlp);
  LayerSpec moe = block_layer(experts, 2);
  CHECK(moe.experts == 4);
  CHECK(moe.experts_per_token == 2);  // --moe-router-topk
  CHECK(moe.hidden == 4 * 64);
  CHECK(moe.shared_experts == 0);
  CHECK(moe.latent_width == 0);
  moe = block_layer(experts +
                        "--moe-ffn-hidden-size 96 --moe-router-topk 3 --moe-shared-expert-intermediate-size 97 "
                        "--moe-latent-size 32",
                    2);
  CHECK(moe.hidden == 96);
  CHECK(moe.experts_per_token == 3);
  CHECK(moe.shared_experts == 2);  // 97 of 96, rounded up
  CHECK(moe.latent_width == 32);
  CHECK(block_layer(experts + "--moe-ffn-hidden-size 96 --moe-shared-expert-intermediate-size 96", 2).shared_experts ==
        1);
}

TEST_CASE("how tokens reach their experts, and how many an expert takes") {
  const std::string two = "--num-experts 4 --expert-model-parallel-size 2 --moe-token-dispatcher-type ";
  CHECK(ranks_of(two + "alltoall").dispatcher == Dispatcher::kAllToAll);
  CHECK(ranks_of(two + "flex").dispatcher == Dispatcher::kAllToAll);
  CHECK(ranks_of(two + "flex --moe-enable-deepep").dispatcher == Dispatcher::kOncePerNode);
  CHECK(ranks_of(two + "flex --moe-flex-dispatcher-backend hybridep").dispatcher == Dispatcher::kOncePerNode);
  CHECK(ranks_of(two + "alltoall --moe-flex-dispatcher-backend deepep").dispatcher == Dispatcher::kAllToAll);
  CHECK(ranks_of(two + "alltoall").expert_capacity == 0);
  CHECK(ranks_of(two + "alltoall --moe-expert-capacity-factor 1.5").expert_capacity == 1.5);
  CHECK(ranks_of(two + "alltoall --moe-expert-capacity-factor 0.5").expert_capacity == 1);  // it waits for the mean
  CHECK(ranks_of(two + "alltoall --overlap-moe-expert-parallel-comm").overlap_experts);
}

TEST_CASE("attention has the heads, groups, widths and windows of its options") {
  LayerSpec layer = block_layer("", 1);
  CHECK(layer.kind == LayerKind::kAttention);
  CHECK(layer.kv_heads == 0);
  CHECK(layer.head_width == 0);
  CHECK_FALSE(layer.rotary);
  CHECK(layer.bias);
  layer = block_layer(
      "--group-query-attention --num-query-groups 2 --kv-channels 32 --qk-layernorm "
      "--disable-bias-linear --add-qkv-bias --position-embedding-type rope",
      1);
  CHECK(layer.kv_heads == 2);
  CHECK(layer.head_width == 32);
  CHECK(layer.head_norm);
  CHECK_FALSE(layer.bias);
  CHECK(layer.qkv_bias);
  CHECK(layer.rotary);
  CHECK(block_layer("--num-query-groups 2 --group-query-attention false", 1).kv_heads == 0);
  CHECK(block_layer("--num-query-groups 0 --group-query-attention", 1).kv_heads == 0);
  CHECK(block_layer("--num-query-groups 4", 1).kv_heads == 0);  // one for each head
  CHECK(block_layer("--kv-channels 16", 1).head_width == 0);    // fills the width
  CHECK_FALSE(block_layer("--add-qkv-bias", 1).qkv_bias);       // all have biases already
  CHECK(block_layer("--window-size 128,0", 1).window == 129);   // itself and 128 before it
  CHECK(block_layer("--window-size '(128,0)' --window-attn-skip-freq 2", 1).window == 129);
  CHECK(block_layer("--window-size '(128,0)' --window-attn-skip-freq 2", 3).window ==
        0);  // every second layer sees all
  CHECK(block_layer("--window-size '(128,0)' --window-attn-skip-freq 3", 3).window == 129);
  CHECK(block_layer("--window-size '(128,0)' --window-attn-skip-freq 3", 5).window == 0);
  CHECK(block_layer("--window-size 0,0", 1).window == 0);
  layer = block_layer("--multi-latent-attention --disable-bias-linear", 1);
  CHECK(layer.kind == LayerKind::kLatentAttention);
  CHECK(layer.query_rank == 0);  // --q-lora-rank None
  CHECK(layer.key_rank == 32);
  CHECK(layer.head_width == 128);
  CHECK(layer.rotary_width == 64);
  CHECK(layer.value_width == 128);
  layer = block_layer(
      "--multi-latent-attention --q-lora-rank 5 --kv-lora-rank 6 --qk-head-dim 8 "
      "--qk-pos-emb-head-dim 10 --v-head-dim 12",
      1);
  CHECK(layer.query_rank == 5);
  CHECK(layer.key_rank == 6);
  CHECK(layer.head_width == 8);
  CHECK(layer.rotary_width == 10);
  CHECK(layer.value_width == 12);
}

TEST_CASE("an MLP is four times as wide inside, with swiglu two thirds of that in steps of 64") {
  CHECK(block_layer("", 2).hidden == 256);
  CHECK_FALSE(block_layer("", 2).gated);
  CHECK(block_layer("--swiglu", 2).hidden == 128);  // 8 * 64 / 3 = 170
  CHECK(block_layer("--swiglu", 2).gated);
  CHECK(block_layer("--swiglu --ffn-hidden-size 100", 2).hidden == 100);
  CHECK(block_layer("--squared-relu", 2).activation == Activation::kRelu);
  CHECK(block_layer("", 2).activation == Activation::kUsual);
  const LayerKind norm = eight_layers("--normalization RMSNorm").network->layers[1].body[0].kind;
  CHECK(norm == LayerKind::kRmsNorm);
  CHECK(eight_layers("").network->layers[1].body[0].kind == LayerKind::kLayerNorm);
  CHECK(refused_by("--normalization own") == "x.sh:1: normalization: expected LayerNorm or RMSNorm, found 'own'");
}

TEST_CASE("the vocabulary is filled up to multiples of 128 for every tensor rank, positions are learned by default") {
  const auto table = [](const std::string& options) { return eight_layers(options).network->layers.front(); };
  CHECK(table("").vocabulary == 128);
  CHECK(table("--tensor-model-parallel-size 4").vocabulary == 512);
  CHECK(table("--make-vocab-size-divisible-by 8").vocabulary == 104);
  CHECK(table("--padded-vocab-size 77").vocabulary == 77);
  CHECK(table("").positions == 16);
  CHECK(table("--max-position-embeddings 32").positions == 32);
  CHECK(table("--position-embedding-type rope").positions == 0);
  CHECK(table("--position-embedding-type none").positions == 0);
  CHECK(eight_layers("").network->layers.back().tied);
  CHECK_FALSE(eight_layers("--untie-embeddings-and-output-weights").network->layers.back().tied);
  const LaunchJob more = eight_layers("--mtp-num-layers 2");
  CHECK(more.network->layers.size() == 1 + 16 + 2 * 3 + 2);
  CHECK(more.network->layers[1 + 16 + 2].kind == LayerKind::kFurtherToken);
  CHECK(more.network->layers[1 + 16 + 2].vocabulary == 128);
}

TEST_CASE("a tokenizer that is known by its name has the published number of words") {
  const auto words = [](const std::string& tokenizer) {
    const LaunchJob job = read_launch(
        "torchrun pretrain_gpt.py --num-layers 8 --hidden-size 64 --num-attention-heads 4 --seq-length 16 "
        "--micro-batch-size 1 --global-batch-size 64 --make-vocab-size-divisible-by 1 " +
            tokenizer,
        "x.sh");
    return job.network->layers.front().vocabulary;
  };
  // vocab_size of the published configurations; of T5 the words of its tokenizer.
  const std::vector<std::pair<std::string, std::int64_t>> published{{"Llama-3.1-8B", 128256},
                                                                    {"meta-llama/Llama-4-Scout", 202048},
                                                                    {"Llama-2-7b-hf", 32000},
                                                                    {"Mixtral-8x7B-v0.1", 32000},
                                                                    {"Qwen/Qwen3-30B-A3B", 151936},
                                                                    {"Qwen2-1.5B", 151936},
                                                                    {"deepseek-ai/DeepSeek-V3", 129280},
                                                                    {"DeepSeek-R1", 129280},
                                                                    {"DeepSeek-V2-Lite", 102400},
                                                                    {"Kimi-K2-Base", 163840},
                                                                    {"Moonlight-16B", 163840},
                                                                    {"openai/gpt-oss-20b", 201088},
                                                                    {"Mistral-7B-v0.1", 32000},
                                                                    {"gemma-7b", 256000},
                                                                    {"nvidia/Nemotron-H-8B", 131072},
                                                                    {"Nemotron-3-Nano", 131072},
                                                                    {"Nemotron-4-340B", 256000},
                                                                    {"t5-small", 32100},
                                                                    {"gpt2", 50257}};
  for (const auto& [name, count] : published) {
    CAPTURE(name);
    CHECK(words("--tokenizer-model " + name) == count);
  }
  CHECK(words("--tokenizer-type GPT2BPETokenizer") == 50257);
  CHECK(words("--tokenizer-type BertWordPieceLowerCase") == 30522);
  CHECK(words("--merge-file merges.txt") == 50257);
  CHECK_THROWS_AS(words("--tokenizer-model own"), Error);
}

TEST_CASE("layers of a pattern are Mamba, attention, MLPs and experts, with Megatron's sizes of Mamba") {
  const LaunchJob job = eight_layers("--hidden-size 512 --hybrid-layer-pattern 'M*|-E/MM' --num-experts 4");
  REQUIRE(job.network->layers.size() == 1 + 4 + 2);
  const auto inside = [&](std::size_t k) { return job.network->layers[k].body[1]; };
  CHECK(inside(1).kind == LayerKind::kMamba);
  CHECK(inside(1).head_width == 64);
  CHECK(inside(1).heads == 16);  // of twice the width
  CHECK(inside(1).state == 128);
  CHECK(inside(1).groups == 8);
  CHECK(inside(1).kernel == 4);
  CHECK(inside(2).kind == LayerKind::kAttention);
  CHECK(inside(3).kind == LayerKind::kMlp);
  CHECK(inside(4).kind == LayerKind::kMoe);
  CHECK(refused_by("--hybrid-layer-pattern MX") ==
        "x.sh:1: hybrid_layer_pattern: expected letters M, *, - and E, found 'X'");
}

TEST_CASE("flags and numbers of settings are read in every form that the files have") {
  Settings settings("x.sh");
  const auto with = [&](const std::string& value) {
    settings.set("a", {{value}, "x.sh:3"});
    return settings;
  };
  for (const char* yes : {"true", "True", "1", "yes", "on"}) CHECK(with(yes).flag("a"));
  for (const char* no : {"false", "0", "no", "OFF"}) CHECK_FALSE(with(no).flag("a", true));
  CHECK_FALSE(settings.flag("b"));
  CHECK(settings.flag("b", true));
  CHECK(with("1e3").whole("a", 0) == 1000);
  CHECK(with("7").real("a", 0) == 7);
  CHECK(with("0").whole("a", 5, 0) == 0);
  CHECK(with("none").whole("a", 5) == 5);
  CHECK(with("9007199254740992").whole("a", 0) == 9007199254740992);
  const auto told = [&](const std::string& value) {
    return testing::error_message([&] { with(value).whole("a", 0); });
  };
  CHECK(told("9007199254740994") == "x.sh:3: a: expected a whole number of at least 1, found '9007199254740994'");
  CHECK(told("0") == "x.sh:3: a: expected a whole number of at least 1, found '0'");
  CHECK(told("1.5") == "x.sh:3: a: expected a whole number of at least 1, found '1.5'");
  CHECK(told("1x") == "x.sh:3: a: expected a whole number of at least 1, found '1x'");
  CHECK(testing::error_message([&] { with("1x").real("a", 0); }) == "x.sh:3: a: expected a number, found '1x'");
  CHECK(testing::error_message([&] { with("inf").real("a", 0); }) == "x.sh:3: a: expected a number, found 'inf'");
  CHECK(testing::error_message([&] { with("maybe").flag("a"); }) == "x.sh:3: a: expected true or false, found 'maybe'");
}

TEST_CASE("an unknown option that is switched off is not told, and one with a value is") {
  const auto told = [](const std::string& value) {
    for (const LaunchNote& note : eight_layers("--frobnicate " + value).notes) {
      if (note.kind == LaunchNote::kUnknown && note.text == "frobnicate") return true;
    }
    return false;
  };
  CHECK_FALSE(told("false"));
  CHECK_FALSE(told("False"));
  CHECK_FALSE(told("None"));
  CHECK(told("true"));
  CHECK(told("7"));
}

TEST_CASE("one expert is none, in layers and where further tokens are predicted") {
  const auto further = [](const std::string& options) {
    return eight_layers("--mtp-num-layers 1 " + options).network->layers[1 + 16 + 1].body[1].kind;
  };
  CHECK(further("") == LayerKind::kMlp);
  CHECK(further("--num-experts 1") == LayerKind::kMlp);
  CHECK(further("--num-experts 2") == LayerKind::kMoe);
}

}  // namespace plumb

TEST_SUITE_END();
