#include <algorithm>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "tests/support/run_command.hpp"
#include "tests/support/scratch_directory.hpp"

TEST_SUITE_BEGIN("tools");

namespace {

using namespace plumb::testing;

CommandResult run_alone(const std::string& command) { return run_command(command, ScratchDirectory().path()); }

}  // namespace

TEST_CASE("the core program answers as the whole one does, and lists the same commands") {
  CHECK(run_alone("plumbline-core --help").out == run_alone("plumbline --help").out);
  CHECK(run_alone("plumbline-core version").out == run_alone("plumbline-simulator version").out);
  for (const std::string arguments :
       {"simulate zb-h1 -p 4 -m 8 --cost F=1,I=1,W=1",
        "simulate 1f1b -p 4 -m 8 --network gpt2-medium --cluster h100-1x4", "sweep 1f1b,gpipe -p 2,4 -m 8",
        "schedule chimera -p 4 -m 4", "validate dualpipe -p 4 -m 8", "simulate 1f1b -p 2 -m 2 --html -",
        "schedules 1f1b", "networks gpt2-small", "clusters h100-1x8", "simulate --help", "sweep --help",
        "schedule --help", "validate --help", "convert --help", "schedules --help", "networks --help",
        "clusters --help", "version --help"}) {
    CAPTURE(arguments);
    const CommandResult core = run_alone("plumbline-core " + arguments);
    const CommandResult whole = run_alone("plumbline " + arguments);
    CHECK(core.status == whole.status);
    CHECK(core.out == whole.out);
    CHECK(core.err == whole.err);
  }
}

TEST_CASE("what the core program lacks it says in one line, or hands to the launcher with nothing said before") {
  const ScratchDirectory scratch;
  scratch.write("launcher", "#!/bin/sh\necho $PLUMB_NEEDS \"$@\"\n");
  scratch.write("train.sh", "torchrun pretrain_gpt.py --num-layers 4\n");
  scratch.write("graph.txt", "node1 -- Input0 -- forward_compute_time=0.000, backward_compute_time=0.000\n");
  std::filesystem::permissions(scratch.path() / "launcher", std::filesystem::perms::owner_all);
  for (const std::string arguments : {"advise run.json",
                                      "ask -",
                                      "campaign --help",
                                      "compare a.json b.json",
                                      "completion bash",
                                      "device measure",
                                      "explore",
                                      "manual",
                                      "plan --network gpt2-small",
                                      "search -p 2",
                                      "stability",
                                      "trace run.json",
                                      "help plan",
                                      "simulate 1f1b --network graph.txt",
                                      "simulate --job train.sh",
                                      "simulate train.sh",
                                      "simulate 1f1b -p 2 -m 2 --network graph.txt --cluster h100-1x2",
                                      "sweep 1f1b -p 2 -m 2 --network train.sh --cluster h100-1x2",
                                      "sweep 1f1b -p 2 -m 2 --network graph.txt",
                                      "sweep 1f1b -p 2 -m 2 --network graph.txt --csv -"}) {
    CAPTURE(arguments);
    const CommandResult alone = run_command("plumbline-core " + arguments, scratch.path());
    CHECK(alone.status == 2);
    CHECK(alone.out == "");
    CHECK(alone.err.starts_with("plumbline: error: "));
    CHECK(alone.err.find(": this program was built without ") != std::string::npos);
    CHECK(alone.err.ends_with("(its target: plumbline-simulator)\n"));
    CHECK(std::count(alone.err.begin(), alone.err.end(), '\n') == 1);
    const CommandResult handed = run_command("PLUMB_LAUNCHER=./launcher plumbline-core " + arguments, scratch.path());
    CHECK(handed.status == 0);
    CHECK(handed.out == "plumbline-simulator " + arguments + "\n");
    CHECK(handed.err == "");
  }
  CHECK(run_alone("plumbline-core train").err.ends_with("(its target: plumbline)\n"));
}

TEST_SUITE_END();
