#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "models/launches/megatron_job.hpp"
#include "models/launches/megatron_names.hpp"
#include "models/launches/read_launch.hpp"
#include "models/stages/network_costs.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/source_directory.hpp"

TEST_SUITE_BEGIN("models");

namespace {

using namespace plumb;

const std::string kSizes =
    " --num-layers 32 --hidden-size 512 --num-attention-heads 8 --seq-length 256 --max-position-embeddings 256 "
    "--vocab-size 32000 --micro-batch-size 1 --global-batch-size 128 --bf16 --pipeline-model-parallel-size 4 ";

LaunchJob job_of(const std::string& flags) {
  return read_launch("torchrun --nproc_per_node 8 pretrain_gpt.py" + kSizes + flags, "x.sh");
}

std::string refusal_of(const std::string& flags) {
  return testing::error_message([&] { job_of(flags); });
}

bool has_note(const LaunchJob& job, LaunchNote::Kind kind, const std::string& text) {
  return std::ranges::any_of(
      job.notes, [&](const LaunchNote& one) { return one.kind == kind && one.text.find(text) != std::string::npos; });
}

}  // namespace

TEST_CASE("an empty stage of a layout, and lists of layers by MindSpeed and Primus, cut the network as they say") {
  const auto cut = [](const std::string& flags) { return to_string(job_of(flags).partition); };
  CHECK(cut("--pipeline-model-parallel-layout 'Et*16||t*8|t*8L'") == "33,0,16,18");
  CHECK(cut("--num-layer-list 7,8,8,9") == "15,16,16,20");
  CHECK(cut("--decoder-pipeline-manual-split-list '[9, 8, 8, 7]'") == "19,16,16,16");
  CHECK(refusal_of("--num-layer-list 7,8,8,8").find("expected 4 numbers that add up to 32 layers") !=
        std::string::npos);
  const std::string nested =
      "num_layers: 4\nhidden_size: 64\nnum_attention_heads: 4\nseq_length: 16\nvocab_size: 100\nmicro_batch_size: 1\n"
      "global_batch_size: 8\npipeline_model_parallel_size: 2\npipeline_model_parallel_layout:\n"
      "- - embedding\n  - decoder\n- - decoder\n  - decoder\n- []\n- - decoder\n  - loss\n";
  const LaunchJob listed = read_launch(nested, "x.yaml");
  CHECK(to_string(listed.partition) == "3,4,0,4");
  CHECK(listed.chunks == 2);
}

TEST_CASE("models with a vision encoder and layers that nobody here knows are refused by their flags") {
  for (const char* flag : {"--freeze-LM", "--freeze-ViT", "--img-h 336", "--patch-dim 14", "--language-model-type=a_7b",
                           "--vision-model-type clip", "--position-embedding-type mrope"}) {
    CAPTURE(flag);
    CHECK(refusal_of(flag).find("expected the training of a decoder-only language model") != std::string::npos);
  }
  CHECK(refusal_of("--experimental-attention-variant gated_delta_net").find("gated_delta_net are not known here") !=
        std::string::npos);
  CHECK(testing::error_message([] {
          read_launch("python examples/multimodal/train.py" + kSizes, "x.sh");
        }).find("launches examples/multimodal/train.py") != std::string::npos);
}

TEST_CASE("a method of recomputation without a granularity is that of 2021: all of a layer, and attention not fused") {
  const LaunchJob uniform = job_of("--activations-checkpoint-method uniform");
  CHECK(uniform.parallelism.recompute == ActivationRecompute::kFull);
  CHECK_FALSE(uniform.parallelism.flash_attention);
  CHECK(job_of("--activations-checkpoint-method uniform --use-flash-attn").parallelism.recompute ==
        ActivationRecompute::kFull);
  const LaunchJob block = job_of("--activations-checkpoint-method block --activations-checkpoint-num-layers 3");
  CHECK(block.parallelism.recompute_layers == 3);
  CHECK(job_of("--recompute-granularity selective --recompute-method uniform").parallelism.recompute ==
        ActivationRecompute::kSelective);
  CHECK(job_of("").parallelism.flash_attention);
}

TEST_CASE("schedules of forks run by the fork's own rules for messages, and a switch above them turns them off") {
  const LaunchJob two = job_of("--enable-zero-bubble --zero-bubble-max-pending-backward 8");
  CHECK(two.schedule == "zb-2p");
  CHECK(two.rules == "zero-bubble");
  CHECK(job_of("--zero-bubble-v-schedule").schedule == "zb-v");
  CHECK(job_of("--enable-zbh1-pipeline").schedule == "zb-h1");
  CHECK(job_of("--schedules-method dualpipev").schedule == "dualpipev");
  CHECK(job_of("--patch-primus-pipeline --pp-algorithm v-half").schedule == "v-half");
  CHECK(job_of("--enable-zero-bubble --patch-zero-bubble false").schedule == "1f1b");
  CHECK(job_of("").rules.empty());
  CHECK(refusal_of("--schedules-method frobnicated").find("expected a known schedule") != std::string::npos);
}

TEST_CASE("GPT-NeoX is run by DeepSpeed: layers need not divide, its defaults count, its tokenizers are known") {
  const std::string text =
      "{\"pipe-parallel-size\": 6, \"model-parallel-size\": 2, \"num-layers\": 44, \"hidden-size\": 6144,\n"
      "\"num-attention-heads\": 64, \"seq-length\": 2048, \"max-position-embeddings\": 2048, \"pos-emb\": \"rotary\",\n"
      "\"no-weight-tying\": true, \"train_micro_batch_size_per_gpu\": 4, \"fp16\": {\"enabled\": true}";
  const LaunchJob job = read_launch(text + ", \"vocab-file\": \"20B_tokenizer.json\"}", "x.yml");
  CHECK(job.runtime == "deepspeed");
  CHECK(to_string(job.partition) == "17,16,14,14,14,16");
  CHECK(job.parallelism.dropout == false);
  CHECK(job.network.value().layers.front().vocabulary == 50432);  // 50277, in steps of 128 for each of 2 ranks
  CHECK(read_launch(text + "}", "x.yml").network.value().layers.front().vocabulary == 50432);
  CHECK(has_note(read_launch(text + "}", "x.yml"), LaunchNote::kAssumed, "50257"));
  CHECK(testing::error_message([&] {
          read_launch(text + ", \"attention-config\": [[[\"mamba\"], 44]]}", "x.yml");
        }).find("layers of mamba are not known here") != std::string::npos);
}

TEST_CASE("what DeepSpeed is told to take from Hugging Face's trainer is assumed, and an optimizer on the host told") {
  const LaunchJob job = read_launch(
      "{\"train_batch_size\": \"auto\", \"train_micro_batch_size_per_gpu\": \"auto\", \"bf16\": {\"enabled\": "
      "\"auto\"},"
      "\"zero_optimization\": {\"stage\": 3, \"overlap_comm\": \"auto\", \"reduce_bucket_size\": \"auto\","
      "\"offload_optimizer\": {\"device\": \"cpu\"}}}",
      "x.json");
  CHECK(job.parallelism.precision == kMixedPrecision);
  CHECK(has_note(job, LaunchNote::kAssumed, "bf16.enabled auto: on"));
  CHECK(job.parallelism.storage_bytes_per_s > 0);
  CHECK(has_note(job, LaunchNote::kDecides, "the state of the optimizer is on the host"));
}

TEST_CASE("a flag that decides the prediction and is not modelled is told first, but not where it is off") {
  CHECK(has_note(job_of("--fp32-residual-connection"), LaunchNote::kDecides, "without fp32_residual_connection"));
  CHECK(has_note(job_of("--task-type embedding"), LaunchNote::kDecides, "without task_type embedding"));
  for (const char* off : {"--task-type causal_lm", "--cpu-offloading false", "--softmax-type vanilla"}) {
    CAPTURE(off);
    CHECK_FALSE(has_note(job_of(off), LaunchNote::kDecides, ""));
  }
}

TEST_CASE("every argument of Megatron-LM is read, or has a class") {
  // Names of all arguments of its parser and of the classes that make the rest of it, at commit d98e8a64 (July 2026).
  std::istringstream flags(read_text_file(testing::in_source("tests/models/launches/megatron_flags.txt")));
  const std::string sizes =
      "torchrun pretrain_gpt.py --num-experts 8 --moe-layer-freq 1 --recompute-granularity selective --fp8-format "
      "hybrid "
      "--multi-latent-attention --use-precision-aware-optimizer --cuda-graph-impl local --use-megatron-fsdp "
      "--num-layers-per-virtual-pipeline-stage 2 --pipeline-model-parallel-size 2 --mtp-num-layers 1 "
      "--cross-entropy-loss-fusion --use-rope-scaling --window-size 8,0 ";
  const LaunchSettings said = launch_settings(sizes + kSizes.substr(0, kSizes.find("--pipeline")), "x.sh");
  const LaunchSettings plain = launch_settings("torchrun pretrain_gpt.py" + kSizes, "x.sh");
  std::string unknown;
  std::size_t count = 0;
  for (std::string name; flags >> name; ++count) {
    if (megatron_setting_class(name) != SettingClass::kUnknown) continue;
    bool is_read = false;
    for (const LaunchSettings& one : {said, plain}) {
      Settings settings = one.settings;
      if (!settings.all().contains(name)) settings.set(name, {{"none"}, "x"});
      rename_to_megatron(settings);
      const bool renamed = !settings.all().contains(name);
      try {
        megatron_job(settings, true);
      } catch (const Error&) {
        is_read = true;  // it has a value that it cannot have
      }
      const std::vector<std::string> unread = settings.unread();
      is_read = is_read || renamed || std::ranges::find(unread, name) == unread.end();
    }
    if (!is_read) unknown += name + " ";
  }
  CHECK(count > 900);
  CHECK(unknown == "");
}
