#include "tools/plans/launch_changes.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "tests/support/run_command.hpp"
#include "tests/support/scratch_directory.hpp"

TEST_SUITE_BEGIN("tools");

namespace {

using namespace plumb;

constexpr const char* kNetworkFlags =
    "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 16 "
    "--seq-length 1024 --vocab-size 51200 --bf16 --micro-batch-size 1 --global-batch-size 8 ";

LaunchSettings script(const std::string& flags) { return launch_settings(kNetworkFlags + flags, "train.sh"); }

/// "before -> after @ place" of every change.
std::vector<std::string> lines_of(const std::vector<LaunchChange>& changes) {
  const auto joined = [](const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    return text;
  };
  std::vector<std::string> lines;
  for (const LaunchChange& change : changes) {
    lines.push_back(joined(change.before) + " -> " + joined(change.after) + " @ " + change.place);
  }
  std::ranges::sort(lines);
  return lines;
}

/// Whether a script runs with these degrees, and recomputes nothing.
bool runs_two_by_two(const LaunchSettings& said) {
  const LaunchJob job = launch_job(said);
  return job.parallelism.tensor == 2 && job.pipeline == 2 && job.chunks == 1 &&
         job.parallelism.recompute == ActivationRecompute::kNone;
}

}  // namespace

TEST_CASE("the changes of a launch are those without which it would not run the plan") {
  const LaunchSettings now = script(
      "--tensor-model-parallel-size 4 --pipeline-model-parallel-size 2 --lr 3e-4 "
      "--recompute-activations");
  const LaunchSettings then = script(
      "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 "
      "--sequence-parallel --attention-dropout 0.1");
  const auto changes = launch_changes(now, then, runs_two_by_two);
  REQUIRE(changes);
  CHECK(lines_of(*changes) ==
        std::vector<std::string>{"recompute_activations ->  @ train.sh:1",
                                 "tensor_model_parallel_size 4 -> tensor_model_parallel_size 2 @ train.sh:1"});
}

TEST_CASE("what only says how to recompute goes with the recomputation") {
  const std::string ranks = "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 ";
  const LaunchSettings now =
      script(ranks + "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1");
  const auto changes = launch_changes(now, script(ranks), runs_two_by_two);
  REQUIRE(changes);
  CHECK(lines_of(*changes) == std::vector<std::string>{"recompute_granularity full ->  @ train.sh:1",
                                                       "recompute_method uniform ->  @ train.sh:1",
                                                       "recompute_num_layers 1 ->  @ train.sh:1"});
}

TEST_CASE("how a launch recomputes stays where it goes on recomputing") {
  const std::string recompute = " --recompute-granularity full --recompute-method uniform --recompute-num-layers 1";
  const LaunchSettings now = script("--tensor-model-parallel-size 4 --pipeline-model-parallel-size 2" + recompute);
  const LaunchSettings then = script("--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2" + recompute);
  const auto changes =
      launch_changes(now, then, [](const LaunchSettings& said) { return launch_job(said).parallelism.tensor == 2; });
  REQUIRE(changes);
  CHECK(lines_of(*changes) ==
        std::vector<std::string>{"tensor_model_parallel_size 4 -> tensor_model_parallel_size 2 @ train.sh:1"});
}

TEST_CASE("a launch that runs the plan already needs no changes") {
  const LaunchSettings now = script("--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --use-flash-attn");
  const auto changes =
      launch_changes(now, script("--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2"), runs_two_by_two);
  REQUIRE(changes);
  CHECK(changes->empty());
}

TEST_CASE("a launch that no change makes into the plan has none") {
  const LaunchSettings now = script("--tensor-model-parallel-size 2");
  CHECK(!launch_changes(now, script("--tensor-model-parallel-size 4"), runs_two_by_two));
}

TEST_CASE("plan --from tells the changes of the user's own script, and not a launch of its own") {
  const testing::ScratchDirectory scratch;
  const std::string flags =
      "--lr 3e-4 --pipeline-model-parallel-size 4 \\\n  --recompute-granularity full "
      "--recompute-method uniform --recompute-num-layers 1 --rotary-base 500000\n";
  scratch.write("train.sh", kNetworkFlags + flags);
  const testing::CommandResult plan = testing::run_command(
      "COLUMNS=200 plumbline plan --from train.sh --cluster a100 --microbatch-size 1 --recompute none --simulations 20",
      scratch.path());
  REQUIRE(plan.status == 0);
  const std::size_t changes = plan.out.find("Megatron-LM: change in train.sh\n");
  REQUIRE(changes != std::string::npos);
  const std::string told = plan.out.substr(changes);
  CHECK(told.find("--pipeline-model-parallel-size 4") != std::string::npos);
  CHECK(told.find("remove  --recompute-granularity full") != std::string::npos);
  CHECK(told.find("remove  --recompute-method uniform") != std::string::npos);
  CHECK(told.find("line 2") != std::string::npos);
  CHECK(told.find("--num-layers 8") == std::string::npos);
  CHECK(told.find("rotary-base") == std::string::npos);
  CHECK(plan.out.find("torchrun") == std::string::npos);
}

TEST_CASE("a launch for Megatron-LM has what decides the model: rotary positions, and words before padding") {
  const testing::ScratchDirectory scratch;
  const testing::CommandResult own = testing::run_command(
      "plumbline plan --network llama3-8b --cluster h100-1x8 --batch 8 --runtime megatron --simulations 20",
      scratch.path());
  REQUIRE(own.status == 0);
  CHECK(own.out.find("--rotary-base 500000") != std::string::npos);
  CHECK(own.out.find("--vocab-size 128256") != std::string::npos);
}

TEST_SUITE_END();
