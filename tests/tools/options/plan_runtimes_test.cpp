#include "tools/options/plan_runtimes.hpp"

#include <doctest/doctest.h>

#include <string>

#include "schedules/catalogue/registry.hpp"
#include "tests/support/run_command.hpp"
#include "tests/support/scratch_directory.hpp"

TEST_SUITE_BEGIN("tools");

namespace plumb::testing {

TEST_CASE("a system has the schedules that plans for it have, those that it has besides, and equal ones") {
  for (const char* name : {"megatron", "Megatron-LM", "megatron-batched", "nemo"}) {
    CAPTURE(name);
    for (const char* own : {"1f1b", "torch-1f1b", "interleaved", "depth-first", "interleaved-overlap"}) {
      CHECK(missing_schedule(name, own) == "");
    }
    CHECK(missing_schedule(name, "zb-2p") ==
          "Megatron-LM has no schedule zb-2p, it has 1f1b, interleaved, interleaved-overlap");
  }
  CHECK(missing_schedule("deepspeed", "1f1b") == "");
  CHECK(missing_schedule("deepspeed", "interleaved") == "DeepSpeed has no schedule interleaved, it has 1f1b");
  for (const char* name : {"torchtitan", "pytorch", "pytorch-deferred"}) {
    CAPTURE(name);
    for (const std::string& own : schedules_of(*plan_runtime("torchtitan"))) CHECK(missing_schedule(name, own) == "");
    for (const char* own : {"torch-gpipe", "torch-zbv", "depth-first"}) CHECK(missing_schedule(name, own) == "");
  }
  CHECK(missing_schedule("torchtitan", "terapipe") ==
        "torchtitan has no schedule terapipe, and no CSV of PyTorch can hold its order");
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    CHECK(missing_schedule("", spec.name) == "");
    CHECK(missing_schedule("plumbline", spec.name) == "");
  }
}

TEST_CASE("a simulation by the rules of a system that has no such schedule says so in one line, and is made") {
  const ScratchDirectory scratch;
  const auto simulated = [&](const std::string& options) {
    return run_command("plumbline simulate " + options + " -p 4 -m 8 --cost F=1,I=1,W=1 --summary", scratch.path());
  };
  const CommandResult zb = simulated("zb-h2 --runtime megatron");
  CHECK(zb.status == 0);
  CHECK(zb.out.find("step time") != std::string::npos);
  CHECK(zb.err ==
        "plumbline: note: Megatron-LM has no schedule zb-h2, it has 1f1b, interleaved, interleaved-overlap; simulated "
        "with its rules for messages\n");
  CHECK(simulated("zb-h2").err == "");
  CHECK(simulated("1f1b --runtime megatron").err == "");
  CHECK(simulated("zb-h2 --runtime torchtitan").err == "");
  CHECK(simulated("zb-h2 --runtime deepspeed").err.starts_with("plumbline: note: DeepSpeed has no schedule zb-h2"));
}

}  // namespace plumb::testing

TEST_SUITE_END();
