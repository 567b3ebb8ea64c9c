#include "tools/options/launch_arguments.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "tests/support/run_command.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/support/source_directory.hpp"

TEST_SUITE_BEGIN("tools");

namespace {

using namespace plumb;

std::string launch_file(const std::string& name) { return testing::in_source("tests/models/launches/data/" + name); }

/// Lines of a table that begin with `title`.
std::string table_row(const std::string& text, const std::string& title) {
  const std::size_t begin = text.find("\n" + title);
  return begin == std::string::npos ? "" : text.substr(begin + 1, text.find('\n', begin + 1) - begin - 1);
}

}  // namespace

TEST_CASE("a job of a launch file takes as long and as much memory as the same options by hand") {
  const testing::ScratchDirectory scratch;
  const auto run = [&](const std::string& options) {
    return testing::run_command("plumbline simulate " + options + " --cluster h100-2x8 --summary", scratch.path()).out;
  };
  const std::string job = run("--job " + launch_file("megatron.log"));
  const std::string by_hand =
      run("1f1b -p 4 -m 32 --network llama3-70b --tp 2 --sequence-parallel --dp 2 "
          "--microbatch-size 1 --zero 1 --runtime megatron --partition equal");
  REQUIRE(table_row(job, "step time") != "");
  CHECK(table_row(job, "step time") == table_row(by_hand, "step time"));
  CHECK(table_row(job, "total") == table_row(by_hand, "total"));
  CHECK(table_row(job, "largest") == table_row(by_hand, "largest"));
}

TEST_CASE("jobs of torchtitan, DeepSpeed and Megatron-Bridge take what the same options by hand take") {
  const testing::ScratchDirectory scratch;
  const auto same = [&](const std::string& job, const std::string& by_hand) {
    CAPTURE(job);
    const std::string end = " --summary";
    const auto a = testing::run_command("plumbline simulate --job " + job + end, scratch.path());
    const auto b = testing::run_command("plumbline simulate " + by_hand + end, scratch.path());
    REQUIRE(table_row(a.out, "step time") != "");
    CHECK(table_row(a.out, "step time") == table_row(b.out, "step time"));
    CHECK(table_row(a.out, "total") == table_row(b.out, "total"));
    CHECK(table_row(a.out, "model FLOPs utilization") == table_row(b.out, "model FLOPs utilization"));
  };
  same(launch_file("llama3_405b.toml") + " --cluster b200-16x8",
       "torch-interleaved -p 2 -v 2 -m 2 --network llama3.1-405b --cluster b200-16x8 --tp 8 --dp 8 --sequence-parallel "
       "--zero 2 --microbatch-size 1 --recompute full --precision fp8-current --overlap-gradients --overlap-products "
       "--runtime torchtitan --partition 63,64,64,64");
  same(launch_file("zero3.json") + " --network llama3-8b --cluster h100",
       "1f1b -p 1 -m 8 --network llama3-8b --cluster h100 --dp 8 --zero 3 --microbatch-size 4 --overlap-gradients "
       "--storage-update 20 --runtime deepspeed");
  same(launch_file("llama3_70b_recipe.yaml") + " --cluster h100-8x8 --precision fp8-current",
       "interleaved -p 8 -v 5 -m 64 --network llama3-70b --vocabulary 128512 --cluster h100-8x8 --tp 4 --dp 2 "
       "--sequence-parallel --zero 1 --microbatch-size 1 --precision fp8-current --overlap-gradients "
       "--overlap-parameters --overlap-products --runtime megatron --partition equal");
}

TEST_CASE("a schedule and microbatches of the command line replace those of a launch file") {
  const std::string file = launch_file("mixtral_8x7b.sh");
  const auto applied = [&](const std::string& name, std::optional<std::int64_t> microbatches) {
    LaunchArguments launch{.file = file, .set = {}, .arguments = {}};
    LaunchJob job = launch.read();
    std::string schedule = name;
    ScheduleArguments size;
    size.microbatches = microbatches;
    CostArguments costs;
    RunRules simulation;
    costs.cluster = "h100";
    apply_launch(job, {schedule, size, costs, simulation});
    return std::tuple(job.batch, size.microbatches, size.chunks);
  };
  using Applied = std::tuple<std::int64_t, std::optional<std::int64_t>, std::optional<std::int64_t>>;
  CHECK(applied("", std::nullopt) == Applied{256, 8, 4});
  CHECK(applied("", 16) == Applied{512, 16, 4});
  CHECK(applied("1F1B", 16) == Applied{512, 16, std::nullopt});  // without the file's virtual stages
}

TEST_CASE("a cluster without a size has the devices that the degrees of a file take") {
  const auto of_degrees = [](std::int64_t data_ranks) {
    LaunchJob job;
    job.parallelism.tensor = 8;
    job.pipeline = 8;
    job.data_ranks = data_ranks;
    return job;
  };
  CHECK(launch_cluster(of_degrees(8), "h100") == "h100-64x8");
  CHECK(launch_cluster(of_degrees(8), "h100-32x8") == "h100-32x8");
  CHECK(launch_cluster(of_degrees(0), "h100") == "h100-8x8");  // the fewest that hold a copy of the model
}

TEST_CASE("options replace what a launch file says, and the cluster takes its size from it") {
  LaunchArguments launch{.file = launch_file("gpt3_175b.sh"), .set = {}, .arguments = {}};
  LaunchJob job = launch.read();
  CHECK(launch_cluster(job, "h100") == "h100-16x8");
  CHECK(launch_cluster(job, "h100-32x8") == "h100-32x8");
  CHECK_THROWS_AS(launch_cluster(job, ""), Error);
  std::string schedule;
  ScheduleArguments size;
  CostArguments costs;
  RunRules simulation;
  costs.cluster = "h100";
  costs.job.degrees.tensor = 4;
  apply_launch(job, {schedule, size, costs, simulation});
  CHECK(schedule == "1f1b");
  CHECK(size.devices == 16);
  CHECK(job.parallelism.data == 2);
  CHECK(size.microbatches == 768);
  CHECK(simulation.runtime == "megatron");
  CHECK(costs.partition.starts_with("13,12,12,"));
}

TEST_CASE("a job without network or cluster is refused with what is missing") {
  const testing::ScratchDirectory scratch;
  const auto refusal = [&](const std::string& options) {
    const auto result = testing::run_command("plumbline simulate --job " + options, scratch.path());
    CHECK(result.status == 2);
    return result.err;
  };
  CHECK(refusal(launch_file("zero3.json") + " --cluster h100").find("expected --network NAME|FILE") !=
        std::string::npos);
  CHECK(refusal(launch_file("gpt3_175b.sh")).find("the file says 16 nodes of 8 devices") != std::string::npos);
  CHECK(refusal(launch_file("gpt3_175b.sh") + " --cluster h100-3x8").find("expected a multiple") != std::string::npos);
}

TEST_CASE("what decides the prediction of a job and is not said by its file is the first line of the answer") {
  const testing::ScratchDirectory scratch;
  scratch.write(
      "x.sh",
      "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 512 --num-attention-heads 8 "
      "--seq-length 512 --vocab-size 1024 --micro-batch-size 1 --pipeline-model-parallel-size 2 --bf16 $MORE");
  const auto answer = [&](const std::string& options, const std::string& command = "simulate --summary --job") {
    const auto result = testing::run_command("COLUMNS=200 plumbline " + command + " x.sh " + options, scratch.path());
    CAPTURE(result.err);
    CHECK(result.status == 0);
    return result.out.substr(result.out.find("\n\n") + 2);  // without the first line
  };
  const std::string batch = "assumed: the batch, one microbatch of every data-parallel rank";
  CHECK(answer("--cluster h100").starts_with(batch));
  CHECK(answer("--cluster h100 -m 4").starts_with("job "));
  CHECK(answer("--cluster h100 --job-set MORE=--global-batch-size=32").starts_with("job "));
  CHECK(answer("--cluster h100 --job-set global_batch_size=32").starts_with("job "));
  CHECK(answer("--cluster h100-2x8 -m 4")
            .starts_with("assumed: 8 of the 16 devices of h100-2x8, as many as the file says (--dp 8 takes 16)\n"));
  CHECK(answer("--cluster h100-2x8 -m 4 --dp 8").starts_with("job "));
  CHECK(answer("--cluster h100-1x8 -m 4").starts_with("job "));
  const std::string other = answer("--cluster h100 -m 4 --job-set optimizer=adafactor");
  CHECK(other.starts_with("assumed: the optimizer adafactor is priced as Adam"));
  CHECK(answer("--cluster h100", "plan --schedule 1f1b --from").starts_with(batch));
}

TEST_CASE("a launch file that names a program, a pipe or standard input is refused, and runs and waits for nothing") {
  const testing::ScratchDirectory scratch;
  std::string job = testing::file_text(launch_file("llama3_405b.toml"));
  const std::string order = "pipeline_parallel_schedule = \"Interleaved1F1B\"";
  REQUIRE(job.find(order) != std::string::npos);
  scratch.write("order.sh", "#!/bin/sh\ntouch was-run\necho 'd0: 0F0 0B0'\n");
  REQUIRE(testing::run_command("chmod +x order.sh && mkfifo pipe", scratch.path()).status == 0);
  for (const std::string named : {"exec:./order.sh", "pipe", "-"}) {
    CAPTURE(named);
    std::string text = job;
    text.replace(text.find(order), order.size(), order + "\npipeline_parallel_schedule_csv = \"" + named + "\"");
    scratch.write("job.toml", text);
    const auto result = testing::run_command("plumbline simulate --job job.toml --cluster h100-16x8", scratch.path());
    CHECK(result.status == 2);
    CHECK(result.err == "plumbline: error: job.toml: names '" + named +
                            "' as the order of its passes, expected a regular file with a schedule; it runs no "
                            "programs\n");
  }
  CHECK(scratch.listing().find("was-run") == std::string::npos);
  scratch.write("job.sh", "source ./pipe\n");
  const auto sourced = testing::run_command("plumbline simulate --job job.sh --cluster h100", scratch.path());
  CHECK(sourced.status == 2);
  CHECK(sourced.err.find("is a pipe or a terminal, expected a regular file where a document names it") !=
        std::string::npos);
}

TEST_SUITE_END();
