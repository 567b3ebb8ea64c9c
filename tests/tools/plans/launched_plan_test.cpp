#include "tools/plans/launched_plan.hpp"

#include <string>

#include <doctest/doctest.h>

#include "tests/support/run_command.hpp"
#include "tests/support/scratch_directory.hpp"

TEST_SUITE_BEGIN("tools");

TEST_CASE("plan --from says how much less time the best plan takes than the job as it is, and what to change") {
  using namespace plumb::testing;
  const ScratchDirectory scratch;
  // Eight microbatches on four pipeline ranks idle for three of eleven; one rank each does not.
  scratch.write(
      "train.sh",
      "torchrun --nproc_per_node 4 pretrain_gpt.py --num-layers 8 --hidden-size 1024 --num-attention-heads 16 "
      "--seq-length 1024 --vocab-size 51200 --bf16 --micro-batch-size 1 --global-batch-size 8 "
      "--pipeline-model-parallel-size 4\n");
  const CommandResult plan =
      run_command("plumbline plan --from train.sh --cluster a100 --microbatch-size 1 --recompute none --simulations 20",
                  scratch.path());
  CHECK(plan.err == "");
  REQUIRE(plan.status == 0);
  CHECK(plan.out.find("train.sh") != std::string::npos);
  CHECK(plan.out.find("to change: ") != std::string::npos);
  CHECK(plan.out.find("pp 4 -> 1") != std::string::npos);
}

TEST_SUITE_END();
