#include "tools/ask/search_question.hpp"

#include <fstream>
#include <sstream>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/support/run_command.hpp"
#include "tests/support/scratch_directory.hpp"

TEST_SUITE_BEGIN("tools");

namespace plumb::testing {
namespace {

std::string text_in(const ScratchDirectory& scratch, const std::string& name) {
  std::ifstream file(scratch.path() / name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("the command that search prints gives the same makespan and fits") {
  const ScratchDirectory scratch;
  for (const std::string job :
       {"-p 4 -m 12 --memory-limit 3 --placement straight", "-p 3 -m 7 --memory-limit 1.5 --cost F=2,I=1,W=1.5",
        "-p 3 -m 9 --cost F=2,I=3,W=1,comm=1 --memory F=2,I=-1,W=-1 --memory-limit 5 --per-device",
        "-p 2 --microbatches=8 --network gpt2-small --cluster a100-1x2 --memory-limit 3GiB --runtime megatron",
        "-p2 -m8 --network gpt2-small --cluster v100-2x1 --transfers blocking"}) {
    CAPTURE(job);
    const CommandResult searched = run_command(
        "plumbline search " + job + " --nodes 500 --simulations 300 -o order.json --json found.json", scratch.path());
    CAPTURE(searched.err);
    REQUIRE(searched.status == 0);
    const auto found = nlohmann::json::parse(text_in(scratch, "found.json"));
    const std::string marker = "\n  plumbline simulate ";
    const std::size_t at = searched.out.find(marker);
    REQUIRE(at != std::string::npos);
    const std::string command = searched.out.substr(at + 3, searched.out.find('\n', at + 3) - at - 3);
    CAPTURE(command);
    const CommandResult again = run_command(command + " --json -", scratch.path());
    CAPTURE(again.err);
    CHECK(again.status == 0);
    const auto timeline = nlohmann::json::parse(again.out);
    CHECK(timeline.at("makespan_ns") == found.at("orders").at(0).at("makespan_ns"));
    CHECK(run_command("plumbline validate order.json", scratch.path()).status == 0);
    for (const auto& order : found.at("orders")) {
      if (order.contains("bound_ns")) CHECK(order.at("makespan_ns") >= order.at("bound_ns"));
    }
  }
}

TEST_CASE("search says in one line what is missing, and with status 3 that nothing fits") {
  const ScratchDirectory scratch;
  const auto error = [&](const std::string& options) {
    return run_command("plumbline search " + options, scratch.path()).err;
  };
  CHECK(error("-m 4") == "plumbline: error: search: -p is missing, expected the number of pipeline devices\n");
  CHECK(error("-p 4") == "plumbline: error: search: -m is missing, expected the microbatches per update\n");
  CHECK(error("-p 2 -m 2 --placement vee").starts_with("plumbline: error: unknown placement 'vee'"));
  CHECK(error("-p 2 -m 2 --jitter 0.1").find("--jitter: orders are compared without it") != std::string::npos);
  const CommandResult none = run_command("plumbline search -p 2 -m 4 --memory-limit 0.5", scratch.path());
  CHECK(none.status == 3);
  CHECK(none.err.starts_with("search: no order fits in the memory limit of 0.5: one stage per device"));
}

TEST_CASE("a search is the same in any memory that is more than enough") {
  SearchQuestion question;
  question.devices = 3;
  question.microbatches = 6;
  question.simulations = 100;
  question.nodes = 1'000;
  question.costs.memory_limit = "50";
  const OrderSearchAnswer ample = question.answer();
  question.costs.memory_limit = "";
  const OrderSearchAnswer none = question.answer();
  CHECK(ample.found.orders.front().timeline.makespan == none.found.orders.front().timeline.makespan);
  CHECK(order_search_text(none).find("memory limit") == std::string::npos);
}

}  // namespace plumb::testing

TEST_SUITE_END();
