// A network on a cluster has one price: what changes nothing about a job changes no byte of an answer, and every
// question about the same job says the same nanoseconds.

#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/support/run_command.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tools/ask/ask.hpp"

TEST_SUITE_BEGIN("tools");

namespace plumb::testing {
namespace {

using nlohmann::json;

/// What says what the job has anyway: degrees of 1, no sharding, no recomputation, mixed precision.
const std::vector<std::string> kSaysNothing{"--tp 1",   "--dp 1",           "--cp 1",           "--ep 1",
                                            "--zero 0", "--recompute none", "--precision mixed"};

CommandResult result_of(const std::string& command) {
  const ScratchDirectory scratch;
  return run_command("plumbline " + command, scratch.path());
}

std::string answer_to(const std::string& command) {
  const CommandResult result = result_of(command);
  CHECK((result.status == 0 || result.status == 3));
  return result.out.substr(0, result.out.find("\nnext:")) + result.err;  // that carries the options on
}

std::int64_t makespan_of(const std::string& command) {
  return json::parse(result_of(command + " --summary --json -").out).at("makespan_ns");
}

}  // namespace

TEST_CASE("options that say what a job has anyway change no byte of the figures of simulate") {
  for (const std::string job :
       {"1f1b -p 4 -m 8 --network llama3-8b --cluster h100-1x8", "zb-v -p 2 -m 4 --network gpt2-medium --cluster a100",
        "1f1b-vocab -p 4 -m 8 --network gpt2-small --cluster v100",
        "gpipe -p 2 -m 2 --network resnet-50 --cluster mi300x", "petra -p 4 -m 2 --network revnet-tiny --cluster b200",
        "terapipe -p 2 -m 4 --network gpt2-small --cluster a100"}) {
    CAPTURE(job);
    const std::string usual = answer_to("simulate " + job);
    for (const std::string& nothing : kSaysNothing) {
      CAPTURE(nothing);
      CHECK(answer_to("simulate " + job + " " + nothing) == usual);
    }
  }
}

TEST_CASE("the microbatch and the sequence that a network has change nothing when they are asked for") {
  const std::string job = "simulate 1f1b -p 2 -m 4 --network gpt2-small --cluster a100 ";
  CHECK(answer_to(job + "--microbatch-size 1") == answer_to(job));
  CHECK(answer_to(job + "--samples 1") == answer_to(job));
  CHECK(answer_to(job + "--sequence 1024") == answer_to(job));
}

TEST_CASE("sweep, ask and the simulation of a plan take the nanoseconds that simulate takes") {
  const std::string job = " --network gpt2-small --cluster a100-1x4";
  const std::int64_t simulated = makespan_of("simulate 1f1b -p 4 -m 8" + job);
  const std::string swept = result_of("sweep 1f1b -p 4 -m 8 --csv -" + job).out;
  CHECK(swept.find("," + std::to_string(simulated) + "," + std::to_string(simulated) + ",") != std::string::npos);
  const json asked = json::parse(
      ask(R"({"ask": "simulate", "schedule": "1f1b", "devices": 4, "microbatches": 8, "network": "gpt2-small",
              "cluster": "a100-1x4", "want": ["summary"]})"));
  CHECK(asked.at("summary").at("makespan_ns") == simulated);
  const std::string planned = result_of("plan --batch 8 --schedule 1f1b --pp 4 --tp 1 --json -" + job).out;
  const json best = json::parse(planned).at("best").at(0);
  const std::string command = best.at("simulate");
  CHECK(best.at("step_time_ns") == makespan_of(command.substr(std::string("plumbline ").size())));
}

}  // namespace plumb::testing

TEST_SUITE_END();
