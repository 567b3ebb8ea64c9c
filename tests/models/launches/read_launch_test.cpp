#include "models/launches/read_launch.hpp"

#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "models/import/load_network.hpp"
#include "models/launches/config_settings.hpp"
#include "models/launches/megatron_log.hpp"
#include "models/stages/network_costs.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/source_directory.hpp"

TEST_SUITE_BEGIN("models");

namespace {

using namespace plumb;

LaunchJob launch_of(const std::string& file, LaunchContext context = {}) {
  const std::string path = testing::in_source("tests/models/launches/data/" + file);
  return read_launch(read_text_file(path), file, context);
}

/// A small network and whatever else a script says.
LaunchJob small_job(const std::string& options) {
  return read_launch(
      "torchrun pretrain_gpt.py --num-layers 8 --hidden-size 64 --num-attention-heads 4 --seq-length 16 "
      "--vocab-size 100 --micro-batch-size 1 --global-batch-size 64 --bf16 " +
          options,
      "x.sh");
}

bool notes(const LaunchJob& job, LaunchNote::Kind kind, const std::string& text) {
  return std::ranges::any_of(job.notes, [&](const LaunchNote& note) {
    return note.kind == kind && note.text.find(text) != std::string::npos;
  });
}

}  // namespace

TEST_CASE("a script with variables, arrays and conditions is the published network and its degrees") {
  LaunchJob job = launch_of("gpt3_175b.sh");
  // 174,604,259,328 parameters with 50257 rows (Brown et al. 2020); the table is padded to 51200 = 50 x 128 x 8
  CHECK(parameter_count(*job.network) == 174'604'259'328 + (51200 - 50257) * std::int64_t{12288});
  CHECK(job.devices() == 128);
  place_launch(job, job.devices());
  CHECK(job.parallelism.tensor == 8);
  CHECK(job.pipeline == 16);
  CHECK(job.parallelism.data == 1);
  CHECK(job.microbatches == 1536);
  CHECK(job.parallelism.precision.gradient_bytes == 2);  // --fp16
  CHECK(job.partition.num_stages() == 16);
  CHECK(notes(job, LaunchNote::kNotModelled, "rampup_batch_size"));
  CHECK(notes(job, LaunchNote::kUnknown, "frobnicate"));
  CHECK(notes(job, LaunchNote::kNotFollowed, ": if [ -d"));
  CHECK(launch_of("gpt3_175b.sh", {.given = {{"NODES", "1"}}}).pipeline == 1);
}

TEST_CASE("a script that builds its command as text is Mixtral 8x7B") {
  LaunchJob job = launch_of("mixtral_8x7b.sh");
  CHECK(parameter_count(*job.network) == 46'702'792'704);  // Jiang et al. 2024
  place_launch(job, job.devices());
  CHECK(job.parallelism.data == 32);
  CHECK(job.parallelism.expert == 8);
  CHECK(job.chunks == 4);
  CHECK(job.schedule == "interleaved");
  CHECK(job.microbatches == 8);
  CHECK(job.parallelism.zero == ZeroStage::kOptimizer);
  CHECK(job.parallelism.dropout == false);
  CHECK(launch_of("mixtral_8x7b.sh", {.given = {{"PRECISION", "fp8"}}}).parallelism.format == MatrixFormat::kFp8Block);
}

TEST_CASE("a launch of Megatron-DeepSpeed is BLOOM, cut, sharded and computed as DeepSpeed does") {
  LaunchJob job = launch_of("bloom_176b.slurm");
  CHECK(parameter_count(*job.network) == 176'247'271'424);  // BLOOM's model card
  CHECK(job.runtime == "deepspeed");
  place_launch(job, 384);
  CHECK(job.parallelism.data == 8);
  CHECK(job.microbatches == 128);
  CHECK(job.parallelism.zero == ZeroStage::kOptimizer);  // DeepSpeed's BF16_Optimizer
  CHECK(job.parallelism.precision.gradient_bytes == 4);
  CHECK(!job.parallelism.flash_attention);
  CHECK(job.parallelism.recompute == ActivationRecompute::kFull);
  // the embedding with its norm and five layers, six in each of the others, five and the head; two parts in a layer
  CHECK(job.partition.bounds == std::vector<std::size_t>{0, 12, 24, 36, 48, 60, 72, 84, 96, 108, 120, 132, 144});
  CHECK(!notes(job, LaunchNote::kUnknown, ""));
  CHECK(job.parallelism.blocking_launches);  // export CUDA_LAUNCH_BLOCKING=1
  CHECK(job.parallelism.weight_gradients == WeightGradients::kSummed);
}

TEST_CASE("a script that another one starts is followed once, with its variables") {
  const std::string inner =
      "torchrun pretrain_gpt.py --num-layers $1 --hidden-size $WIDTH --num-attention-heads 4 --seq-length 16 "
      "--vocab-size 100 --micro-batch-size 1 --global-batch-size 64 --bf16\nbash train.sh 9\nsbatch outer.sh\n";
  LaunchContext context;
  context.open = [&](const std::string& path) {
    return path == "./train.sh" || path == "train.sh" ? std::optional(inner) : std::nullopt;
  };
  const LaunchJob job = read_launch("WIDTH=64\nsbatch --nodes=2 `pwd`/train.sh 6\n", "outer.sh", context);
  CHECK(job.network->layers.size() == 2 * 6 + 3);
  CHECK(job.network->layers.front().width == 64);
}

TEST_CASE("DeepSpeed cuts what does not divide, larger stages first") {
  const auto layers = [](const std::string& options) {
    std::vector<std::size_t> bounds =
        small_job("--deepspeed --pipeline-model-parallel-size 3 " + options).partition.bounds;
    return bounds;
  };
  using Bounds = std::vector<std::size_t>;
  CHECK(layers("") == Bounds{0, 7, 13, 19});  // 3, 3 and 2 layers
  CHECK(layers("--pp-partition-method 'type:transformer|embedding'") == Bounds{0, 7, 13, 19});
  CHECK(layers("--num-layers 7 --pp-partition-method 'type:transformer|embedding'") == Bounds{0, 5, 11, 17});
  CHECK(notes(small_job("--deepspeed --pp-partition-method parameters"), LaunchNote::kNotModelled, "divided evenly"));
  CHECK_THROWS_WITH_AS(small_job("--deepspeed --pipeline-model-parallel-size 9"),
                       "x.sh:1: num_layers: 8 layers for 9 pipeline ranks, expected at least one for each", Error);
  CHECK(small_job("--deepspeed --use-flash-attn-v2").parallelism.flash_attention);
}

TEST_CASE("the arguments that Megatron-LM prints are Llama 3 70B") {
  LaunchJob job = launch_of("megatron.log");
  CHECK(parameter_count(*job.network) == parameter_count(load_network("llama3-70b")));
  CHECK(job.devices() == 16);
  place_launch(job, 16);
  CHECK(job.parallelism.data == 2);
  CHECK(job.microbatches == 32);
  CHECK(job.parallelism.sequence_parallel);
}

TEST_CASE("a printed configuration of Megatron-Bridge has virtual stages, overlaps and 8 bits") {
  LaunchJob job = launch_of("llama3_70b_recipe.yaml");
  // 128256 rows of embedding and head are padded to a multiple of 128 x 4.
  CHECK(parameter_count(*job.network) == 70'553'706'496 + 2 * 256 * std::int64_t{8192});
  place_launch(job, 64);
  CHECK(job.chunks == 5);
  CHECK(job.partition.num_stages() == 40);
  CHECK(job.microbatches == 64);
  CHECK(job.parallelism.format == MatrixFormat::kFp8Current);
  CHECK(job.parallelism.precision.gradient_bytes == 2);
  CHECK(job.parallelism.overlap_products);
  CHECK(job.parallelism.captured == CapturedGraphs::kNone);
}

TEST_CASE("a configuration of NeMo's launcher is Llama 2 70B, with the optimizer that its name says") {
  LaunchJob job = launch_of("llama2_70b_nemo.yaml");
  CHECK(parameter_count(*job.network) == parameter_count(load_network("llama2-70b")) + 2 * 256 * std::int64_t{8192});
  CHECK(job.devices() == 1024);
  place_launch(job, job.devices());
  CHECK(job.parallelism.data == 64);
  CHECK(job.microbatches == 32);
  CHECK(job.chunks == 20);
  CHECK(job.partition.num_stages() == 80);
  CHECK(job.network->sequence == 4096);
  CHECK(job.parallelism.zero == ZeroStage::kOptimizer);
  CHECK(job.parallelism.overlap_gradients);
  CHECK(job.parallelism.overlap_parameters);
  CHECK(job.parallelism.recompute == ActivationRecompute::kNone);
  CHECK(job.parallelism.format == MatrixFormat::kBf16);
}

TEST_CASE("torchtitan's parts of the model, its file of an order and its microbatches are read") {
  const std::string head =
      "[model]\nname = \"llama3\"\nflavor = \"debugmodel\"\n[training]\nlocal_batch_size = 8\nseq_len = 2048\n"
      "[parallelism]\npipeline_parallel_degree = 2\nnum_pp_microbatches = 4\n"
      "pipeline_parallel_schedule = \"Interleaved1F1B\"\npipeline_parallel_schedule_csv = \"order.csv\"\n";
  const auto parts = [&](const std::string& list) {
    return read_launch(head + "module_fqns_per_model_part = " + list + "\n", "x.toml");
  };
  const LaunchJob job = parts(
      R"([["tok_embeddings"], ["layers.0", "layers.1", "layers.2"], ["layers.3", "layers.4"], ["layers.5", "norm", "output"]])");
  CHECK(job.chunks == 2);
  CHECK(job.schedule_file == "order.csv");
  CHECK(job.parallelism.microbatch_size == 2);
  CHECK(job.accumulation == 4);
  CHECK(job.partition.bounds == std::vector<std::size_t>{0, 1, 7, 11, 15});
  const LaunchJob keeps = read_launch(head + "[activation_checkpoint]\nmode = \"none\"\n", "x.toml");
  CHECK(keeps.parallelism.modules == RecomputeModules{});
  CHECK_THROWS_WITH_AS(parts(R"([["layers.1"], ["layers.0"]])"), doctest::Contains("expected layers.0, found layers.1"),
                       Error);
  CHECK_THROWS_WITH_AS(parts(R"([["layers.0"], ["layers.1"]])"), doctest::Contains("expected all 6 layers"), Error);
  CHECK_THROWS_WITH_AS(parts(R"([["layers.0"]])"), doctest::Contains("expected a multiple of 2 parts"), Error);
}

TEST_CASE("torchtitan counts embedding and head as layers when it cuts") {
  LaunchJob job = launch_of("llama3_405b.toml");
  CHECK(parameter_count(*job.network) == parameter_count(load_network("llama3.1-405b")));
  place_launch(job, 128);
  CHECK(job.parallelism.data == 8);
  CHECK(job.parallelism.recompute == ActivationRecompute::kFull);
  CHECK(job.parallelism.format == MatrixFormat::kFp8Current);
  CHECK(job.schedule == "torch-interleaved");
  CHECK(job.microbatches == 2);
  // 126 layers and two that count: 32 each, one less on the first and the last stage
  CHECK(job.partition.bounds == std::vector<std::size_t>{0, 63, 127, 191, 255});
}

TEST_CASE("DeepSpeed's configuration says the batch and what is sharded, and not the network") {
  LaunchJob job = launch_of("zero3.json");
  CHECK_FALSE(job.network);
  CHECK(job.parallelism.zero == ZeroStage::kWeights);
  place_launch(job, 8);
  CHECK(job.batch == 4 * 8 * 8);
  CHECK(notes(job, LaunchNote::kDecides, "the state of the optimizer is on the host"));
  const LaunchJob pipeline = read_launch(
      R"({"train_batch_size": 16, "train_micro_batch_size_per_gpu": 1, "pipeline": {"stages": 4, "activation_checkpoint_interval": 1}})",
      "x.json");
  CHECK(pipeline.pipeline == 4);
  CHECK(pipeline.parallelism.recompute == ActivationRecompute::kFull);
  CHECK(pipeline.parallelism.precision == Precision{});
  CHECK(pipeline.devices() == 0);
}

TEST_CASE(
    "context ranks exchange heads where Megatron is told so, and in DeepSpeed, whose sequence ranks are Ulysses") {
  CHECK_FALSE(small_job("--context-parallel-size 2").parallelism.context_by_heads);
  CHECK(small_job("--context-parallel-size 2 --cp-comm-type a2a").parallelism.context_by_heads);
  CHECK_FALSE(small_job("--cp-comm-type a2a").parallelism.context_by_heads);
  CHECK(read_launch(R"({"train_batch_size": 8, "train_micro_batch_size_per_gpu": 1, "sequence_parallel_size": 2})",
                    "x.json")
            .parallelism.context_by_heads);
}

TEST_CASE("the samples of a step of DeepSpeed say how many devices there are") {
  const auto job = [](const std::string& batch) {
    return read_launch(R"({"train_batch_size": )" + batch +
                           R"(, "train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 3,
                           "pipeline": {"stages": 3}})",
                       "x.json");
  };
  CHECK(job("63").devices() == 63);  // 21 ranks, with 3 stages each
  CHECK_THROWS_WITH_AS(job("64"), doctest::Contains("train_batch_size: expected a multiple of"), Error);
}

TEST_CASE("what DeepSpeed refuses is refused: ZeRO 2 and 3 beside a pipeline, three sizes of a batch that contradict") {
  const auto placed = [](const std::string& sizes, std::int64_t devices) {
    return testing::error_message([&] {
      LaunchJob job = read_launch("{" + sizes + "}", "x.json");
      place_launch(job, devices);
    });
  };
  const std::string zero = R"("train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": )";
  CHECK(placed(zero + R"(3}, "pipeline": {"stages": 2})", 8) ==
        "x.json: ZeRO 3 beside 2 pipeline stages: DeepSpeed does not have it, expected ZeRO 0 or 1");
  CHECK(placed(zero + R"(1}, "pipeline": {"stages": 2})", 8) == "");
  CHECK(placed(zero + "3}", 8) == "");
  const std::string sizes =
      R"("train_batch_size": 256, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": )";
  CHECK(placed(sizes + "8", 8) == "");
  CHECK(
      placed(sizes + "8", 4) ==
      "x.json: the batch of 256 samples, expected 128: 4 per microbatch, accumulated 8 times on 4 data-parallel ranks "
      "(DeepSpeed refuses another one; without an accumulation it follows)");
  CHECK(placed(sizes + R"("auto")", 4) == "");
}

TEST_CASE("fp16 is told from bf16, as DeepSpeed, Megatron-LM and NeMo say it") {
  const auto configured = [](const std::string& precision) {
    return read_launch(R"({"train_micro_batch_size_per_gpu": 1, ")" + precision + R"(": {"enabled": true}})", "x.json")
        .half;
  };
  CHECK(configured("fp16"));
  CHECK_FALSE(configured("bf16"));
  CHECK(small_job("--fp16").half);
  CHECK_FALSE(small_job("--bf16").half);
}

TEST_CASE("latent attention does not look at groups of queries, which are not reported as unknown") {
  const LaunchJob job =
      small_job("--multi-latent-attention --group-query-attention --num-query-groups 4 --kv-channels 128");
  CHECK(std::ranges::none_of(job.notes, [](const LaunchNote& note) { return note.kind == LaunchNote::kUnknown; }));
}

TEST_CASE("degrees of torchtitan say how many devices there are, unless the shards are what is left over") {
  const auto devices = [](const std::string& degrees) {
    return read_launch("[model]\nname = \"llama3\"\nflavor = \"8B\"\n[parallelism]\n" + degrees +
                           "tensor_parallel_degree = 8\npipeline_parallel_degree = 8\n",
                       "x.toml")
        .devices();
  };
  CHECK(devices("data_parallel_shard_degree = 8\n") == 512);
  CHECK(devices("data_parallel_shard_degree = 4\ndata_parallel_replicate_degree = 2\n") == 512);
  CHECK(devices("data_parallel_shard_degree = 1048576\n") == 64 << 20);
  CHECK(testing::error_message([&] {
          devices("data_parallel_shard_degree = 1048577\n");
        }).find("expected at most 1048576") != std::string::npos);
  CHECK(devices("data_parallel_shard_degree = -1\n") == 0);
  CHECK(devices("") == 0);
}

TEST_CASE("layouts say how many layers every stage has") {
  using Bounds = std::vector<std::size_t>;
  const std::string two = "--pipeline-model-parallel-size 2 ";
  CHECK(small_job(two).partition.bounds == Bounds{0, 9, 19});
  CHECK(small_job(two + "--pipeline-model-parallel-layout 'E|t*8L'").partition.bounds == Bounds{0, 1, 19});
  CHECK(small_job(two + "--pipeline-model-parallel-layout 'Ett|(tt|)*2,ttL'").partition.bounds ==
        Bounds{0, 5, 9, 13, 19});
  CHECK(small_job(two + "--pipeline-model-parallel-layout 'Ett|(tt|)*2,ttL'").chunks == 2);
  CHECK(small_job(two).hides_messages);
  CHECK_FALSE(
      small_job(two + "--num-virtual-stages-per-pipeline-rank 2 --no-overlap-p2p-communication").hides_messages);
  CHECK(small_job(two + "--decoder-first-pipeline-num-layers 3").partition.bounds == Bounds{0, 7, 19});
  CHECK_THROWS_WITH_AS(small_job(two + "--pipeline-model-parallel-layout 'Ettt|ttL'"),
                       "x.sh:1: pipeline_model_parallel_layout: expected as many t and m as layers, 8, found 5", Error);
  CHECK_THROWS_WITH_AS(small_job("--pipeline-model-parallel-size 3"),
                       "x.sh:1: num_layers: 8 layers do not divide over 3 pipeline ranks, expected a multiple of them",
                       Error);
}

TEST_CASE("a log has the arguments as names, dots and values, whatever stands before them") {
  const std::string begin = "2025-01-01 0: hidden_size ..... 64\n";
  const std::string rest =
      "  num_layers ................. 8 \r\n[default0]: seq_length .. 16\n  micro_batch_size ... 1\n";
  CHECK(is_megatron_log(begin + rest));
  CHECK_FALSE(is_megatron_log(begin + "  num_layers ... 8\n  seq_length .. 16\n"));  // two that are a size or a number
  const Settings settings =
      settings_of_megatron_log(begin + rest + "... 5\nname ..\n ... x\nname ...x\n" + "tail ... a b", "x.log");
  CHECK(settings.whole("hidden_size", 0) == 64);
  CHECK(settings.whole("num_layers", 0) == 8);
  CHECK(settings.whole("seq_length", 0) == 16);
  CHECK(settings.text("tail") == "a b");
  CHECK_FALSE(settings.has("name"));
  CHECK(settings.all().size() == 5);
  CHECK(settings.find("seq_length")->place == "x.log:3");
}

TEST_CASE("mistakes are told with their place") {
  CHECK_THROWS_WITH_AS(read_launch("ls -l\n", "x.sh"),
                       "x.sh: no launch of a training program is found, expected a command such as torchrun "
                       "pretrain_gpt.py --num-layers 32 ...",
                       Error);
  CHECK_THROWS_WITH_AS(small_job("\\\n--tensor-model-parallel-size two"),
                       "x.sh:2: tensor_model_parallel_size: expected a whole number of at least 0, found 'two'", Error);
  CHECK_THROWS_WITH_AS(small_job("--tensor-model-parallel-size $TP"),
                       "x.sh:1: tensor_model_parallel_size: the value of TP is not in this file, expected it with "
                       "--job-set TP=VALUE",
                       Error);
  CHECK_THROWS_WITH_AS(read_launch("[model\n", "x.toml"), doctest::Contains("x.toml:1:"), Error);
  CHECK_THROWS_WITH_AS(read_launch("a: [1\nb: 2", "x.yaml"), doctest::Contains("x.yaml:2:"), Error);
  LaunchJob job = small_job("--tensor-model-parallel-size 4 --pipeline-model-parallel-size 2");
  CHECK_THROWS_AS(place_launch(job, 12), Error);
}

TEST_CASE("what is set from outside and nothing reads is refused with the nearest name") {
  const std::string script =
      "GPUS=${GPUS:-8}\nHOSTS=4\nheads=${heads:-4}\n"
      "torchrun --nnodes $HOSTS --nproc_per_node $GPUS pretrain_gpt.py --num-layers 8 --hidden-size 64 "
      "--num-attention-heads $heads --seq-length 16 --vocab-size 100 --micro-batch-size 1 --global-batch-size 64";
  const auto set = [&](const char* name, const char* value) {
    return read_launch(script, "x.sh", {.given = {{name, value}}});
  };
  CHECK(set("GPUS", "2").per_node == 2);
  CHECK(set("heads", "2").network.has_value());
  CHECK(set("num-layers", "4").network->layers.size() < set("num-layers", "8").network->layers.size());
  CHECK(set("batch-size", "2").parallelism.microbatch_size == 2);  // an older name of micro-batch-size
  CHECK(set("lr", "0.1").batch == 64);                             // has no effect by itself
  CHECK_THROWS_WITH_AS(set("GPU", "2"), "--job-set: nothing reads 'GPU' of x.sh (did you mean 'GPUS'?)", Error);
  CHECK_THROWS_WITH_AS(set("HOSTS", "2"), doctest::Contains("--job-set: nothing reads 'HOSTS' of x.sh"), Error);
  CHECK_THROWS_WITH_AS(set("num_layer", "4"),
                       "--job-set: nothing reads 'num_layer' of x.sh (did you mean 'num_layers'?)", Error);
  CHECK_THROWS_WITH_AS(launch_of("llama3_405b.toml", {.given = {{"tensor_degree", "4"}}}),
                       doctest::Contains("nothing reads 'tensor_degree'"), Error);
  CHECK(launch_of("llama3_405b.toml", {.given = {{"tensor_parallel_degree", "4"}}}).parallelism.tensor == 4);
  CHECK(launch_of("llama3_405b.toml", {.given = {{"parallelism.context_parallel_degree", "2"}}}).parallelism.context ==
        2);
  CHECK(launch_of("llama3_405b.toml", {.given = {{"context_parallel_degree", "2"}}}).parallelism.context == 2);
  CHECK_THROWS_WITH_AS(launch_of("llama3_405b.toml", {.given = {{"parallelism.context_paralel_degree", "2"}}}),
                       doctest::Contains("(did you mean 'parallelism.context_parallel_degree'?)"), Error);
  CHECK_THROWS_WITH_AS(launch_of("zero3.json", {.given = {{"train_batch", "4"}}}),
                       doctest::Contains("(did you mean 'train_batch_size'?)"), Error);
}

TEST_CASE("a variable that an inner script reads is one that is read") {
  const std::string inner =
      "torchrun pretrain_gpt.py --num-layers 8 --hidden-size 64 --num-attention-heads 4 --seq-length 16 --vocab-size "
      "100 "
      "--micro-batch-size 1 --global-batch-size $BATCH";
  const LaunchContext context{.given = {{"BATCH", "32"}},
                              .open = [&](const std::string&) { return std::optional(inner); }};
  for (const char* outer : {"bash inner.sh", "source inner.sh", "sbatch inner.sh"}) {
    CAPTURE(outer);
    CHECK(read_launch(outer, "x.sh", context).batch == 32);
  }
}

TEST_CASE("the state of an optimizer that is not Adam is priced, and a batch that nobody gives is noted first") {
  const auto decides = [](const LaunchJob& job, const std::string& text) {
    return notes(job, LaunchNote::kDecides, text);
  };
  const auto state = [](const std::string& options) {
    return small_job(options).parallelism.precision.optimizer_bytes;
  };
  CHECK(state("") == 12);
  CHECK(state("--optimizer sgd") == 8);
  CHECK(state("--optimizer sgd --sgd-momentum 0") == 4);
  CHECK(state("--optimizer lion") == 8);
  CHECK(state("--optimizer muon") == 8);
  CHECK(decides(small_job("--optimizer muon"), "the products of its update are not part of the prediction"));
  CHECK(decides(small_job("--optimizer adafactor"), "the optimizer adafactor is priced as Adam"));
  CHECK_FALSE(decides(small_job("--optimizer adam"), ""));
  CHECK_FALSE(decides(small_job(""), ""));
  CHECK_FALSE(small_job("").batch_assumed);
  const std::string no_batch =
      "torchrun pretrain_gpt.py --num-layers 8 --hidden-size 64 --num-attention-heads 4 --seq-length 16 --vocab-size "
      "100 "
      "--micro-batch-size 1";
  CHECK(read_launch(no_batch, "x.sh").batch_assumed);
  CHECK_THROWS_WITH_AS(
      read_launch(no_batch + " --step-batch-size-schedule 0:384", "x.sh"),
      doctest::Contains(
          "the batch changes with the steps, expected that of one step with --job-set global_batch_size=N"),
      Error);
  const LaunchContext given{.given = {{"global_batch_size", "384"}}};
  CHECK(read_launch(no_batch + " --step-batch-size-schedule 0:384", "x.sh", given).batch == 384);
}

TEST_CASE("a YAML that repeats a long value by aliases or references is refused before it is long") {
  const std::string value = "a: &a " + std::string(1'000'000, 'x') + "\n";
  CHECK_THROWS_WITH_AS(read_launch(value + "b: *a\nc: *a\nd: *a\ne: *a\n", "x.yaml"),
                       "x.yaml: expected at most 4 MiB of values, with those that it repeats", Error);
  CHECK_THROWS_WITH_AS(read_launch(value + "b: ${a}\nc: ${a}\nd: ${a}\ne: ${a}\n", "x.yaml"),
                       "x.yaml: expected at most 4 MiB of values, with those that it repeats", Error);
  std::string list = "a: &a [";
  for (int i = 0; i < 30'000; ++i) list += "1,";
  CHECK_THROWS_WITH_AS(read_launch(list + "1]\nb: *a\nc: *a\nd: *a\n", "x.yaml"),
                       "x.yaml: expected a configuration of fewer tables and values", Error);
}

TEST_CASE("TOML whose names have thousands of parts is refused at its line: in headers, keys, tables and lists") {
  const auto parts = [](std::size_t count) {
    std::string name = "a";
    for (std::size_t k = 1; k < count; ++k) name += ".a";
    return name;
  };
  const auto refusal = [](const std::string& text) {
    return testing::error_message([&] { read_launch(text, "x.toml"); });
  };
  const std::string deep = ": nested too deeply, expected at most 256 parts of a name and brackets in each other";
  CHECK(refusal("[" + parts(50'000) + "]\n") == "x.toml:1" + deep);
  CHECK(refusal("[[" + parts(50'000) + "]]\n") == "x.toml:1" + deep);
  CHECK(refusal("x = 1\n" + parts(50'000) + " = 1\n") == "x.toml:2" + deep);
  std::string tables;
  for (int k = 0; k < 100; ++k) tables += parts(100) + " = {";
  CHECK(refusal(tables) == "x.toml:1" + deep);
  CHECK(refusal("a = " + std::string(100'000, '[')) == "x.toml:1" + deep);
  CHECK(refusal("[" + parts(200) + "]\n") == "x.toml: expected a configuration of fewer tables and values");
}

TEST_CASE("dots and brackets in strings, comments and lists of numbers nest nothing") {
  const std::string many(1000, '[');
  std::string numbers;
  for (int k = 0; k < 1000; ++k) numbers += "1.5, ";
  const Settings settings =
      settings_of_toml("a = \"" + many + "\\\"" + many + "\"  # " + many + "\nb = '" + many + "'\nc = '''\n" + many +
                           "'\n'''\nd = \"\"\"" + many + "\\\"\"\"\"\ne = [" + numbers + "]\nf = \"read\"\n",
                       "x.toml");
  CHECK(settings.text("f") == "read");
  CHECK(settings.list("e").size() == 1000);
}

TEST_CASE("names that are longer than a line are refused, because every value of a table would repeat them") {
  const std::string name(100'000, 'n');
  const std::string expected = ": expected names of at most 1024 bytes, with those of their tables";
  CHECK_THROWS_WITH_AS(settings_of_toml("[" + name + "]\na = 1\n", "x.toml"), ("x.toml" + expected).c_str(), Error);
  CHECK_THROWS_WITH_AS(settings_of_json("{\"" + name + "\": {\"a\": 1}}", "x.json"), ("x.json" + expected).c_str(),
                       Error);
}

TEST_CASE("a message suggests no command that holds what a script says, unless it is a plain name") {
  const std::string message =
      testing::error_message([] { small_job("--tensor-model-parallel-size $(touch pwned; echo 1024)"); });
  CHECK(message.find("--job-set") == std::string::npos);
  CHECK(message ==
        "x.sh:1: tensor_model_parallel_size: the value of $(touch pwned; echo 1024) is not in this file, "
        "expected a number or a word");
}

TEST_SUITE_END();
