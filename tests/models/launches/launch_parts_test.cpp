#include "models/launches/read_launch.hpp"

#include <algorithm>
#include <map>
#include <string>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "models/stages/network_costs.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("models");

// Jobs of which a part stands in another file, in the environment or on another command line. Sizes and names are facts
// of public configurations; the texts were written for these tests.

namespace {

using namespace plumb;

using Files = std::map<std::string, std::string>;

LaunchContext beside(const Files& files, std::map<std::string, std::string> given = {}) {
  return {.given = std::move(given), .open = [files](const std::string& path) -> std::optional<std::string> {
            const auto found = files.find(path);
            return found == files.end() ? std::nullopt : std::optional(found->second);
          }};
}

const std::string kPretrain =
    "modules:\n"
    "  pre_trainer:\n"
    "    framework: megatron\n"
    "    config: pre_trainer.yaml\n"
    "    model: ${PRIMUS_MODEL:tiny_moe}.yaml\n"
    "    overrides:\n"
    "      micro_batch_size: 1\n"
    "      global_batch_size: 64\n"
    "      seq_length: ${PRIMUS_SEQ_LENGTH:4096}\n"
    "      tensor_model_parallel_size: ${PRIMUS_TP:2}\n"
    "      pipeline_model_parallel_size: ${PRIMUS_PP:4}\n";

const std::string kTrainer = "bf16: true\nuse_distributed_optimizer: true\nmicro_batch_size: 7\n";

const std::string kModel =
    "num_layers: 16\nhidden_size: 4096\nffn_hidden_size: 14336\nnum_attention_heads: 32\n"
    "group_query_attention: true\nnum_query_groups: 8\nswiglu: true\nnormalization: RMSNorm\n"
    "position_embedding_type: rope\nadd_bias_linear: false\nuntie_embeddings_and_output_weights: true\n"
    "vocab_size: 32000\nbf16: false\n";

const std::string kNemo =
    "trainer:\n  num_nodes: 2\n  devices: 8\n  precision: bf16\n"
    "model:\n  micro_batch_size: 4\n  global_batch_size: 2048\n  encoder_seq_length: 2048\n  num_layers: 24\n"
    "  hidden_size: 4096\n  num_attention_heads: 32\n  vocab_size: 50257\n  ffn_hidden_size: ";

std::int64_t hidden_of(const LaunchJob& job) {
  const LayerSpec& mlp = job.network.value().layers[2].body.at(1);
  return mlp.hidden;
}

std::int64_t nemo_hidden(const std::string& text, std::map<std::string, std::string> given = {}) {
  return hidden_of(read_launch(kNemo + text + "\n", "x.yaml", beside({}, std::move(given))));
}

}  // namespace

TEST_CASE("a configuration of Primus has the settings of its overrides, above its module's, above its model's") {
  const Files files{{"pre_trainer.yaml", kTrainer}, {"tiny_moe.yaml", kModel}};
  const LaunchJob job = read_launch(kPretrain, "x.yaml", beside(files));
  CHECK(job.parallelism.precision == kMixedPrecision);
  CHECK(job.parallelism.zero == ZeroStage::kOptimizer);
  CHECK(job.parallelism.microbatch_size == 1);
  CHECK(job.parallelism.tensor == 2);
  CHECK(job.network.value().sequence == 4096);
  CHECK(read_launch(kPretrain, "x.yaml", beside(files, {{"PRIMUS_TP", "4"}})).parallelism.tensor == 4);
  const Files above{{"../../primus/configs/modules/megatron/pre_trainer.yaml", "extends: [base.yaml]\n"},
                    {"../../primus/configs/modules/megatron/base.yaml", kTrainer},
                    {"../../primus/configs/models/megatron/other.yaml", kModel}};
  const LaunchJob other = read_launch(kPretrain, "x.yaml", beside(above, {{"PRIMUS_MODEL", "other"}}));
  CHECK(other.parallelism == job.parallelism);
  CHECK(other.network == job.network);
}

TEST_CASE("a file that a configuration of Primus names and that is not there is told, and so is an unknown back end") {
  CHECK(testing::error_message([] {
          read_launch(kPretrain, "x.yaml", beside({{"tiny_moe.yaml", kModel}}));
        }).starts_with("x.yaml:4: config: the file 'pre_trainer.yaml' is not found"));
  const LaunchJob job = read_launch(kPretrain, "x.yaml", beside({{"pre_trainer.yaml", kTrainer}}));
  CHECK_FALSE(job.network);
  CHECK(job.missing.starts_with("x.yaml:5: model: the file 'tiny_moe.yaml' is not found"));
  CHECK(testing::error_message([] {
          read_launch("modules:\n  pre_trainer:\n    framework: maxtext\n", "x.yaml");
        }).starts_with("x.yaml:3: framework: 'maxtext' is not read here"));
  CHECK(testing::error_message([] { read_launch("base_emb_dim: 4096\n", "x.yaml"); }).find("MaxText") !=
        std::string::npos);
}

TEST_CASE("the torchtitan back end of Primus has its settings by their sections") {
  const std::string text =
      "modules:\n  pre_trainer:\n    framework: torchtitan\n    config: c.yaml\n    model: m.yaml\n    overrides:\n"
      "      training:\n        local_batch_size: 4\n        seq_len: 8192\n"
      "      parallelism:\n        pipeline_parallel_degree: 2\n";
  const Files files{{"c.yaml", "training:\n  local_batch_size: 8\nactivation_checkpoint:\n  mode: full\n"},
                    {"m.yaml", "model:\n  name: llama3\n  flavor: 8B\n"}};
  const LaunchJob job = read_launch(text, "x.yaml", beside(files));
  CHECK(job.runtime == "torchtitan");
  CHECK(job.pipeline == 2);
  CHECK(job.accumulation == 4);
  CHECK(job.network.value().sequence == 8192);
  CHECK(job.parallelism.recompute == ActivationRecompute::kFull);
}

TEST_CASE("references of OmegaConf are computed: arithmetic, the environment, values of other tables") {
  CHECK(nemo_hidden("${multiply:4, ${.hidden_size}}") == 16384);
  CHECK(nemo_hidden("${multiply:${model.num_layers},${floor_div:${trainer.devices},3}}") == 48);
  CHECK(nemo_hidden("${ceil_div:${..trainer.devices},3}") == 3);
  CHECK(nemo_hidden("${oc.decode:${oc.env:FFN,${multiply:2,${model.hidden_size}}}}") == 8192);
  CHECK(nemo_hidden("${oc.decode:${oc.env:FFN,8192}}", {{"FFN", "1024"}}) == 1024);
  CHECK(nemo_hidden("${oc.select:model.none,512}") == 512);
  CHECK(nemo_hidden("${if:${eq:1,2},64,${max:128,${.num_attention_heads}}}") == 128);
  CHECK(nemo_hidden("${multiply:4,${.hidden_size}}", {{"model.hidden_size", "2048"}}) == 8192);
}

TEST_CASE("a reference that cannot be computed names the variable or the setting, and one to itself ends") {
  CHECK(testing::error_message([] { nemo_hidden("${oc.env:FFN}"); }).ends_with("expected it with --job-set FFN=VALUE"));
  CHECK(testing::error_message([] { nemo_hidden("${frobnicate:4}"); }).find("--job-set ffn_hidden_size=VALUE") !=
        std::string::npos);
  CHECK(nemo_hidden("${frobnicate:4}", {{"ffn_hidden_size", "64"}}) == 64);
  CHECK(testing::error_message([] { nemo_hidden("${.ffn_hidden_size}"); }).find("ffn_hidden_size") !=
        std::string::npos);
  CHECK(testing::error_message([] { nemo_hidden("${divide:1,0}"); }).find("ffn_hidden_size") != std::string::npos);
  CHECK(testing::error_message([] {
          nemo_hidden("16384", {{"multiply", "4"}});
        }).find("nothing reads 'multiply'") != std::string::npos);
}

TEST_CASE("settings are given by their paths as Hydra spells them, and a path that nothing reads is an error") {
  const auto job_with = [](const char* name, const char* value) {
    return read_launch(kNemo + "16384\n", "x.yaml", beside({}, {{name, value}}));
  };
  CHECK(job_with("model.tensor_model_parallel_size", "8").parallelism.tensor == 8);
  CHECK(job_with("trainer.num_nodes", "16").nodes == 16);
  CHECK(testing::error_message([&] {
          job_with("model.tensor_model_paralel_size", "8");
        }).find("did you mean 'tensor_model_parallel_size'?") != std::string::npos);
  const std::string toml = "[model]\nname = \"llama3\"\nflavor = \"8B\"\n";
  const LaunchContext given = beside({}, {{"pipeline_parallel_degree", "4"}});
  CHECK(read_launch(toml, "x.toml", given).pipeline == 4);
}

TEST_CASE("the nodes of a job are those of sbatch's options, of srun's, or of the script that sbatch starts") {
  const std::string inner =
      "#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=8\nsrun python -u pretrain_gpt.py --num-layers 8 --hidden-size 64 "
      "--num-attention-heads 4 --seq-length 16 --vocab-size 100 --micro-batch-size 1 --global-batch-size 512 --bf16\n";
  const auto nodes = [&](const std::string& text) {
    const LaunchJob job = read_launch(text, "outer.sh", beside({{"inner.sh", inner}}));
    CHECK(job.per_node == 8);
    return job.nodes;
  };
  CHECK(nodes("sbatch --nodes=4 inner.sh\n") == 4);
  CHECK(nodes("sbatch --nodes 4 inner.sh\n") == 4);
  CHECK(nodes("N=6\nsbatch -N $N --export=ALL,A=B inner.sh\n") == 6);
  CHECK(nodes("sbatch -N4 inner.sh\n") == 4);
  CHECK(nodes("sbatch inner.sh\n") == 2);
  CHECK(nodes(inner) == 2);
  std::string by_srun = inner;
  by_srun.replace(by_srun.find("srun"), 4, "srun -N 3");
  CHECK(nodes(by_srun) == 3);
}

TEST_CASE("a script of torchtitan has the settings of its file below those of its command, or those of a name") {
  const std::string toml =
      "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 8\nseq_len = 8192\n";
  const std::string options =
      "--parallelism.pipeline_parallel_degree=4 --parallelism.pipeline_parallel_schedule=Interleaved1F1B "
      "--parallelism.pipeline_parallel_microbatch_size 1\n";
  const LaunchJob by_file = read_launch(
      "NGPU=8\nF=${F:-./a.toml}\ntorchrun --nproc_per_node=${NGPU} -m torchtitan.train --job.config_file ${F} " +
          options,
      "x.sh", beside({{"./a.toml", toml}}));
  CHECK(by_file.pipeline == 4);
  CHECK(by_file.schedule == "torch-interleaved");
  CHECK(by_file.accumulation == 8);
  CHECK(by_file.nodes * by_file.per_node == 8);
  const LaunchJob by_name = read_launch(
      "torchrun --nproc_per_node=8 -m torchtitan.train --module llama3 --config llama3_8b "
      "--training.local_batch_size=8 " +
          options,
      "x.sh");
  CHECK(by_name.network == by_file.network);
  CHECK(by_name.schedule == by_file.schedule);
  CHECK(testing::error_message([] {
          read_launch("torchrun -m torchtitan.train --module llama3 --config llama3_9b --training.steps=1\n", "x.sh");
        }).find("did you mean 'llama3_8b'?") != std::string::npos);
}

TEST_CASE("a script that names its network otherwise describes everything else, and says whose network it is") {
  const std::string text =
      "NPROC_PER_NODE=8 NNODES=8 \\\nmegatron sft --model Qwen/Qwen3-8B --tensor_model_parallel_size 2 "
      "--pipeline_model_parallel_size 4 --max_length 4096\n";
  const LaunchJob job = read_launch(text, "x.sh");
  CHECK_FALSE(job.network);
  CHECK(job.network_name == "Qwen/Qwen3-8B");
  CHECK(job.nodes * job.per_node == 64);
  CHECK(job.batch == 16);  // ms-swift's default
  CHECK(job.parallelism.sequence == 4096);
  CHECK(job.parallelism.zero == ZeroStage::kOptimizer);
  const LaunchJob loaded = read_launch(
      "torchrun pretrain_gpt.py --load x --use-checkpoint-args --tensor-model-parallel-size 2 --seq-length 4096\n",
      "x.sh");
  CHECK(loaded.missing == "x.sh:1: use_checkpoint_args: the checkpoint says the network");
  CHECK(testing::error_message([] {
          read_launch("megatron export --model a --to_mcore true --test 1\n", "x.sh");
        }).find("launches megatron export") != std::string::npos);
  CHECK(testing::error_message([] {
          read_launch("data_prefix: [1]\n", "x.yaml");
        }).find("says nothing of a training job") != std::string::npos);
}

TEST_CASE("the environment of a submission to MLPerf stands in a file of exports, and its program names the rest") {
  const Files files{
      {"run_and_time.sh", "CMD=('python' '-u')\n${LOGGER:-} ${CMD[@]} /workspace/pretrain.py $EXTRA; r=$?\n"},
      {"pretrain.py", "@hydra.main(config_path=\"conf\", config_name=\"top\")\n"},
      {"conf/top.yaml", "defaults:\n  - _self_\n  - group@a.b: c\n  - custom\nhydra:\n  run: x\n"},
      {"conf/custom.yaml",
       "trainer:\n  devices: ${oc.decode:${oc.env:DGXNGPU,8}}\n  num_nodes: "
       "${oc.decode:${oc.env:DGXNNODES,1}}\n  precision: bf16\nmodel:\n"
       "  micro_batch_size: 1\n  tensor_model_parallel_size: "
       "${oc.decode:${oc.env:TP}}\n  global_batch_size: ${multiply:${oc.decode:"
       "${oc.env:MINIBS}},${floor_div:${multiply:${trainer.devices},"
       "${trainer.num_nodes}},${model.tensor_model_parallel_size}}}\n"}};
  const LaunchJob job =
      read_launch("export TP=4\nexport MINIBS=16\nexport DGXNNODES=8\n", "config_a.sh", beside(files));
  CHECK(job.parallelism.tensor == 4);
  CHECK(job.nodes == 8);
  CHECK(job.batch == 256);
}
