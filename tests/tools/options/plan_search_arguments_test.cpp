#include "tools/options/plan_question.hpp"

#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "models/network/vocabulary_rows.hpp"
#include "tests/support/source_directory.hpp"
#include "tools/options/plan_arguments.hpp"
#include "tools/options/plan_runtimes.hpp"

TEST_SUITE_BEGIN("tools");

namespace {

using namespace plumb;

std::string sized(const std::string& cluster, std::int64_t devices) {
  PlanSearchArguments arguments;
  arguments.cluster = cluster;
  arguments.devices = devices;
  size_cluster(arguments);
  return arguments.cluster;
}

PlanSearchArguments asked(const std::string& network, const std::string& runtime) {
  PlanSearchArguments arguments;
  arguments.network = network;
  arguments.cluster = "h100";
  arguments.batch = 8;
  arguments.runtime = runtime;
  return arguments;
}

}  // namespace

TEST_CASE("--devices gives a built-in cluster its size, and refuses what cannot be") {
  CHECK(sized("h100", 64) == "h100-8x8");
  CHECK(sized("H100", 8) == "H100");
  CHECK(sized("h100", 4) == "h100-1x4");
  CHECK(sized("gb200", 256) == "gb200-4x64");  // racks of 72
  CHECK(sized("h100-8x8", 64) == "h100-8x8");
  CHECK_THROWS_WITH_AS(sized("h100-4x8", 64), doctest::Contains("has 32 devices"), Error);
  CHECK_THROWS_WITH_AS(sized("h100", 13), doctest::Contains("a node of 'h100' has 8 devices"), Error);
}

TEST_CASE("systems are found by their own names, in any spelling") {
  CHECK(plan_runtime("Megatron-LM") == plan_runtime("megatron"));
  CHECK(plan_runtime("DeepSpeed") == plan_runtime("deepspeed"));
  CHECK(plan_runtime("TorchTitan") == plan_runtime("torchtitan"));
  CHECK(plan_runtime("None") == nullptr);
  CHECK_THROWS_WITH_AS(plan_runtime("TorchTitans"), doctest::Contains("did you mean 'torchtitan'"), Error);
}

TEST_CASE("a precision that a system does not have is refused with those that it has") {
  PlanSearchArguments deepspeed = asked("llama3-8b", "deepspeed");
  deepspeed.precision = "fp8";
  CHECK_THROWS_WITH_AS(plan_question(deepspeed),
                       "plan: --precision fp8: DeepSpeed does not have it beside a pipeline, expected mixed,single",
                       Error);
  PlanSearchArguments titan = asked("llama3-8b", "torchtitan");
  titan.precision = "nvfp4";
  CHECK_THROWS_WITH_AS(plan_question(titan), doctest::Contains("expected mixed,fp8-current,mxfp8"), Error);
  titan.precision = "mxfp8";
  titan.cluster = "b200";
  CHECK(plan_question(titan).ranges.parallelisms.front().format == MatrixFormat::kMxFp8);
  // So is the format of a launch file that was written for another system.
  titan.precision = "";
  titan.computes = Parallelism{};
  titan.computes->format = MatrixFormat::kFp8Block;
  CHECK_THROWS_WITH_AS(plan_question(titan), doctest::Contains("--precision fp8-block: torchtitan"), Error);
}

TEST_CASE("a precision that the devices do not have is refused before anything is searched") {
  PlanSearchArguments job = asked("llama3-8b", "none");
  job.cluster = "a100";
  job.precision = "fp8";
  CHECK_THROWS_WITH_AS(plan_question(job), doctest::Contains("products in fp8: A100 has no such products"), Error);
  job.precision = "mixed";
  CHECK_NOTHROW(plan_question(job));
}

TEST_CASE("choices that are left to stages are searched beside what all stages may have alike") {
  PlanSearchArguments left = asked("gpt2-small", "none");
  left.zero = "fitted";
  left.recompute = "none";
  left.data = "2";
  left.tensor = left.microbatch_sizes = "1";
  const auto count = [&](auto has) { return std::ranges::count_if(plan_question(left).ranges.parallelisms, has); };
  CHECK(count([](const Parallelism&) { return true; }) == 3);  // ZeRO 1, ZeRO 3, and layer by layer
  CHECK(count([](const Parallelism& job) { return job.zero_by_layer && job.zero == ZeroStage::kOptimizer; }) == 1);
  CHECK(count([](const Parallelism& job) { return job.zero == ZeroStage::kWeights; }) == 1);
  left.offload = true;
  CHECK(count([](const Parallelism& job) { return job.offload_by_stage; }) == 3);
  left.cluster = testing::in_source("tools/examples/a100_v100.json");
  CHECK_THROWS_WITH_AS(plan_question(left), doctest::Contains("--offload needs the link to the host"), Error);
  left.host_bandwidth = "25GB";
  CHECK(count([](const Parallelism& job) { return job.offload_by_stage; }) == 3);
  left.runtime = "megatron";
  left.zero = "";
  CHECK_THROWS_WITH_AS(plan_question(left), doctest::Contains("plan: --offload: no system is known"), Error);
}

TEST_CASE("tables of words are priced as Megatron-LM pads them, and as they are for other systems") {
  const PlanQuestion padded = plan_question(asked("gpt2-small", "megatron"));
  CHECK(padded.vocabulary == 50304);
  CHECK(vocabulary_rows(padded.network) == 50304);
  CHECK(plan_question(asked("gpt2-small", "none")).vocabulary == 0);
  CHECK(plan_question(asked("llama3-8b", "megatron")).vocabulary == 0);  // 128256 is a multiple of 128
}

TEST_CASE("gradients are reduced beside the last backward where torchtitan always does it") {
  const auto overlaps = [](const char* runtime) {
    return plan_question(asked("llama3-8b", runtime)).ranges.parallelisms.front().overlap_gradients;
  };
  CHECK(overlaps("torchtitan"));
  CHECK_FALSE(overlaps("megatron"));
}

TEST_CASE("copies with shares are searched unless data ranks or a system are asked for") {
  PlanSearchArguments arguments = asked("gpt2-small", "");
  CHECK(plan_question(arguments).ranges.copies.empty());  // no system runs them
  arguments.all = true;
  CHECK(plan_question(arguments).ranges.copies.size() == 15);
  arguments.data = "2";
  CHECK(plan_question(arguments).ranges.copies.empty());
  arguments.copies = "2,4";
  CHECK(plan_question(arguments).ranges.copies == std::vector<std::int32_t>{2, 4});
  arguments.runtime = "megatron";
  CHECK_THROWS_WITH_AS(plan_question(arguments), "plan: --copies: no system shares a batch so, expected --runtime none",
                       Error);
  arguments.copies.clear();
  CHECK(plan_question(arguments).ranges.copies.empty());
}

TEST_CASE("kinds of devices have unlike tensor degrees where that is asked for, without what is left to stages") {
  PlanSearchArguments arguments = asked("gpt2-small", "");
  arguments.cluster = testing::in_source("tools/examples/a100_v100.json");
  arguments.data = "1";
  arguments.microbatch_sizes = "1";
  arguments.recompute = "none,fitted";
  const auto count = [&](auto has) { return std::ranges::count_if(plan_question(arguments).ranges.parallelisms, has); };
  const auto unlike = [](const Parallelism& job) { return job.has_unlike_tensor(); };
  CHECK(count(unlike) == 0);
  arguments.unlike_tensor = true;
  // 1, 2 or 4 on A100, another one on V100; no recomputation or full, which `fitted` adds; with and without sequence
  // parallelism.
  CHECK(count(unlike) == 24);
  CHECK(count([](const Parallelism& job) { return job.tensor_by_place == std::vector<std::int32_t>{2, 2, 4}; }) == 4);
  CHECK(count([&](const Parallelism& job) { return unlike(job) && job.recompute == ActivationRecompute::kFitted; }) ==
        0);
  arguments.tensor = "1,2";
  CHECK(count(unlike) == 8);
  arguments.cluster = "a100-2x8";
  CHECK(count(unlike) == 0);
  arguments.runtime = "megatron";
  arguments.recompute.clear();
  CHECK_THROWS_WITH_AS(plan_question(arguments), doctest::Contains("plan: --unlike-tp: no system"), Error);
}

TEST_CASE("what ranks send each other is that of all layouts; groups of shards only where ZeRO shards") {
  PlanSearchArguments arguments = asked("gpt2-small", "");
  arguments.data = "4";
  arguments.traffic.shard_group = "2";
  arguments.traffic.compress_messages = "8";
  arguments.traffic.overlap_gradients = true;
  for (const Parallelism& job : plan_question(arguments).ranges.parallelisms) {
    CHECK(job.shard_groups == (job.zero == ZeroStage::kNone ? ShardGroups{} : ShardGroups::of(2)));
    CHECK(job.activation_bits == 8);
    CHECK(job.overlap_gradients);
  }
  arguments.runtime = "megatron";
  CHECK_THROWS_WITH_AS(plan_question(arguments), doctest::Contains("no launch is printed with them"), Error);
}

TEST_CASE("published planners see really unlike devices as faster and slower ones, with the memory of each") {
  PlanArguments arguments;
  arguments.network = "gpt2-small";
  arguments.cluster = testing::in_source("tools/examples/a100_v100.json");
  const PlanProblem problem = plan_problem(arguments);
  CHECK(problem.speed[3] == 1);
  CHECK(problem.speed[4] == doctest::Approx(125e12 * 0.4 / (312e12 * 0.6)));
  CHECK(problem.memory_bytes == 16'944'988'160);
  CHECK(problem.memory_of(0) == 84'974'239'744);
  arguments.memory = "8GiB";
  CHECK(plan_problem(arguments).memory_of(0) == std::int64_t{8} << 30);
}

TEST_SUITE_END();
