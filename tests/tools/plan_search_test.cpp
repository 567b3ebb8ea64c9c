#include <algorithm>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/support/run_command.hpp"
#include "tests/support/scratch_directory.hpp"

TEST_SUITE_BEGIN("tools");

using namespace plumb::testing;

namespace {

const std::string kPlan =
    "plumbline plan --network gpt2-small --cluster a100-1x2 --batch 4 --tp 1 --dp 1 --pp 2 --microbatch-size 1 "
    "--recompute none --schedule 1f1b,zb-h1 ";

}  // namespace

TEST_CASE("a plan's document simulates, by the command that the plan prints, to the step time that it promised") {
  const ScratchDirectory scratch;
  const CommandResult plan = run_command(kPlan + "-o best.json --json answer.json --html page.html", scratch.path());
  REQUIRE(plan.status == 0);
  CHECK(scratch.listing() == "answer.json best.json page.html");
  const auto answer = nlohmann::json::parse(run_command("cat answer.json", scratch.path()).out);
  CHECK(answer.at("proved") == true);
  CHECK(answer.at("best").size() == 2);
  const std::size_t begin = plan.out.find("plumbline simulate best.json");
  REQUIRE(begin != std::string::npos);
  const std::string command = plan.out.substr(begin, plan.out.find('\n', begin) - begin);
  const CommandResult simulated = run_command(command + " --summary --json -", scratch.path());
  REQUIRE(simulated.status == 0);
  CHECK(nlohmann::json::parse(simulated.out).at("step_time_ns") == answer.at("best")[0].at("step_time_ns"));
}

TEST_CASE("a plan that cannot be is refused in one line; one that fits nowhere says what misses how many bytes") {
  const ScratchDirectory scratch;
  const auto expect = [&](const std::string& command, int status, const std::string& said) {
    CAPTURE(command);
    const CommandResult result = run_command(command, scratch.path());
    CHECK(result.status == status);
    CHECK(result.err.find(said) != std::string::npos);
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
    CHECK(result.out.empty());
  };
  expect("plumbline plan --network gpt2-small --cluster a100", 2, "expected --batch N");
  expect("plumbline plan --cluster a100 --batch 8", 2, "expected --network");
  expect(kPlan + "--zero 7", 2, "--zero");
  expect("plumbline plan --network gpt2-small --cluster a100 --batch 8 --schedule 1f1", 2, "did you mean '1f1b'");
  expect("plumbline plan --network gpt2-small --cluster a100 --batch 8 --schedule hetpipe", 2, "expected one copy");
  expect("plumbline plan --network gpt2-small --cluster a100-1x2 --batch 8 --pp 2 --schedule pipedream", 3,
         "nothing can be scheduled: schedule 'pipedream': stages 0 and 1 share a weight");
  expect(kPlan + "--memory-limit 1GB", 3, "bytes) on place");
}

TEST_CASE("a plan that never flushes says how old its weights are, and its document takes the step that it promised") {
  const ScratchDirectory scratch;
  const CommandResult answer = run_command(
      "plumbline plan --network gpt-tiny --cluster a100-1x2 --batch 4 --tp 1 --dp 1 --pp 2 --microbatch-size 1 "
      "--recompute none --schedule pipedream -o best.json --json answer.json --html page.html",
      scratch.path());
  REQUIRE(answer.status == 0);
  CHECK(answer.out.find("updates old, backwards") != std::string::npos);
  const auto json = nlohmann::json::parse(run_command("cat answer.json", scratch.path()).out);
  const auto& best = json.at("best")[0];
  CHECK(best.at("staleness").size() == 2);
  CHECK(best.at("staleness")[0].at("tau_fwd") > best.at("staleness")[1].at("tau_fwd"));
  const std::size_t begin = answer.out.find("plumbline simulate best.json");
  REQUIRE(begin != std::string::npos);
  const std::string command = answer.out.substr(begin, answer.out.find('\n', begin) - begin);
  const CommandResult simulated = run_command(command + " --summary --json -", scratch.path());
  REQUIRE(simulated.status == 0);
  CHECK(nlohmann::json::parse(simulated.out).at("step_time_ns") == best.at("step_time_ns"));
}

TEST_CASE("prices and degrees are chosen and shown") {
  const ScratchDirectory scratch;
  const CommandResult plan = run_command(
      "plumbline plan --network mixtral-8x7b --cluster h100-2x8 --batch 16 --tp 1 --cp 1,2 --dp 4,8 --ep 1,8 --pp 1,2 "
      "--microbatch-size 1 --recompute full --zero 3 --schedule 1f1b --price 2 --simulations 50 --json answer.json",
      scratch.path());
  REQUIRE(plan.status == 0);
  for (const char* said : {"price per 1M tokens", "cheapest", "expert "}) {
    CAPTURE(said);
    CHECK(plan.out.find(said) != std::string::npos);
  }
  const auto best = nlohmann::json::parse(run_command("cat answer.json", scratch.path()).out).at("best")[0];
  const double seconds = best.at("step_time_ns").get<double>() * 1e-9;
  CHECK(best.at("price_per_hour") == 2 * best.at("devices").get<double>());
  CHECK(best.at("price_per_token").get<double>() ==
        doctest::Approx(seconds / 3600 * best.at("price_per_hour").get<double>() / (16 * 4096)));
}

TEST_CASE("what would help is told with the step time that it gives") {
  const ScratchDirectory scratch;
  const CommandResult plan = run_command(kPlan + "--explain", scratch.path());
  REQUIRE(plan.status == 0);
  for (const char* said :
       {"what would help", "computes 10 % faster", "25 % more memory", "all stages take the same time"}) {
    CAPTURE(said);
    CHECK(plan.out.find(said) != std::string::npos);
  }
}

TEST_CASE("settings of Megatron-LM say degrees and batch, where it can run the schedule at all") {
  const ScratchDirectory scratch;
  const std::string plan =
      "plumbline plan --network gpt2-small --cluster a100-1x2 --batch 4 --tp 2 --dp 1 --pp 1 --microbatch-size 1 "
      "--recompute full --schedule 1f1b --guide";
  const CommandResult result = run_command(plan, scratch.path());
  REQUIRE(result.status == 0);
  for (const char* said : {"--tensor-model-parallel-size 2", "--global-batch-size 4", "--micro-batch-size 1",
                           "--recompute-granularity full", "--sequence-parallel"}) {
    CAPTURE(said);
    CHECK(result.out.find(said) != std::string::npos);
  }
}

TEST_SUITE_END();
