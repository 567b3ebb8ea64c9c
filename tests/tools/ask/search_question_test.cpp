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
        "-p 4 -m 8 --memory-limit 7 --placement straight --cost F=1,B=2,FB=2.5",
        "-p 3 -m 9 --cost F=2,I=3,W=1,comm=1 --memory F=2,I=-1,W=-1 --memory-limit 5",
        "-p 2 --microbatches=8 --network gpt2-small --cluster a100-1x2 --memory-limit 6GiB --runtime megatron",
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
    std::string command = searched.out.substr(at + 3);  // the last lines
    command.pop_back();
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

TEST_CASE("a search from a schedule is never worse than it, and the command that it prints gives the same") {
  const ScratchDirectory scratch;
  scratch.write("a.rules",
                "option k = 2\nneed m % k == 0\nlet warmup = min(p-d, m/k)-1\nwarmup: k*F0\n"
                "m/k-warmup: k*F0 k*B0\nwarmup: k*B0\n");
  scratch.write("overlap.rules", "let warmup = min(2*(p-1-d)+1, m)\nwarmup: F0\nm-warmup: (F0;B0)\nwarmup: B0\n");
  scratch.write(
      "open.json",
      R"({"format": "plumbline-schedule", "version": 1, "name": "open", "parameters": {}, "num_devices": 2, "num_stages": 2,
                    "num_microbatches": 4, "microbatches_per_update": 4, "placement": [[[0], [1]]],
                    "weights": {"policy": "flush"}, "devices": [["0F0", "0F1", "0F2", "0B0"], []]})");
  for (const std::string start :
       {"a.rules -p 4 -m 8 --opt k=4 --cost F=1,B=2,comm=1", "open.json --cost F=1,B=2 --memory-limit 3",
        "dualpipev -p 4 -m 8 --cost F=1,B=2,FB=2.5", "overlap.rules -p 4 -m 8 --cost F=1,B=2,FB=2.5",
        "dualpipe -p 4 -m 8 --cost F=1,B=2,FB=2.5", "pipeedge -p 4 -m 6",
        "interleaved -p 2 -m 4 -v 2 --cost F=1,B=2"}) {
    CAPTURE(start);
    const CommandResult searched =
        run_command("plumbline search " + start + " --simulations 300 -o order.json --json found.json", scratch.path());
    CAPTURE(searched.err);
    REQUIRE(searched.status == 0);
    const auto found = nlohmann::json::parse(text_in(scratch, "found.json"));
    CHECK(found.at("start") == start.substr(0, start.find(' ')));
    for (const auto& order : found.at("orders")) {
      CHECK(order.at("makespan_ns") >= found.at("orders").at(0).at("makespan_ns"));
    }
    const std::size_t at = searched.out.find("\n  plumbline simulate ");
    REQUIRE(at != std::string::npos);
    std::string command = searched.out.substr(at + 3);  // the last lines
    command.pop_back();
    CAPTURE(command);
    const CommandResult again = run_command(command + " --json -", scratch.path());
    CAPTURE(again.err);
    CHECK(nlohmann::json::parse(again.out).at("makespan_ns") == found.at("orders").at(0).at("makespan_ns"));
    CHECK(run_command("plumbline validate order.json", scratch.path()).status == 0);
  }
  const auto error = [&](const std::string& options) {
    return run_command("plumbline search " + options, scratch.path()).err;
  };
  CHECK(error("-p 2 -m 2 --opt k=2") ==
        "plumbline: error: search: --opt is an option of a schedule to start from, expected one\n");
  CHECK(error("1f1b gpipe -p 2 -m 2") == "plumbline: error: search: gpipe: expected one schedule to start from\n");
  CHECK(error("gems -p 2 -m 2").empty());
}

TEST_CASE("a shape is searched, its document runs as the search says, and is searched again as a document") {
  const ScratchDirectory scratch;
  const std::string costs = " --cost F=1,B=3,S=1,T=1 --memory F=1,B=-1 --memory-limit 4 --backward whole";
  const std::string effort = " --nodes 1000 --simulations 100 --json found.json";
  const auto search = [&](const std::string& what) {
    const CommandResult searched = run_command("plumbline search " + what + costs + effort, scratch.path());
    CAPTURE(searched.err);
    REQUIRE(searched.status == 0);
    const std::size_t at = searched.out.find("\n  plumbline simulate ");
    REQUIRE(at != std::string::npos);
    std::string command = searched.out.substr(at + 3);  // the last lines
    command.pop_back();
    CAPTURE(command);
    const auto found = nlohmann::json::parse(text_in(scratch, "found.json"));
    const CommandResult again = run_command(command + " --json -", scratch.path());
    CAPTURE(again.err);
    REQUIRE(again.status == 0);
    CHECK(nlohmann::json::parse(again.out).at("makespan_ns") == found.at("orders").at(0).at("makespan_ns"));
    return found;
  };
  const auto of_shape = search("--shape m -p 4 -m 8 -o order.json");
  CHECK(of_shape.at("start") == "shape m");
  CHECK(run_command("plumbline validate order.json", scratch.path()).status == 0);
  const auto of_document = search("order.json -o again.json");
  CHECK(of_document.at("orders").at(0).at("makespan_ns") <= of_shape.at("orders").at(0).at("makespan_ns"));
  CHECK(of_document.at("orders").at(0).at("bound_ns") == of_shape.at("orders").at(0).at("bound_ns"));
  const auto error = [&](const std::string& options) {
    return run_command("plumbline search " + options, scratch.path()).err;
  };
  CHECK(error("--shape m -p 4 -m 8 -v 2").find("--shape is a placement of its own") != std::string::npos);
  CHECK(error("--shape k -p 3 -m 8").find("shape k: 3 devices, expected an even number of at least 2") !=
        std::string::npos);
  CHECK(error("--shape m -p 4").find("-m is missing") != std::string::npos);
}

TEST_CASE("search says in one line what is missing, and with status 3 that nothing fits") {
  const ScratchDirectory scratch;
  const auto error = [&](const std::string& options) {
    return run_command("plumbline search " + options, scratch.path()).err;
  };
  CHECK(error("-m 4") ==
        "plumbline: error: search: -p is missing, expected the number of pipeline devices (such as -p 4 -m 8)\n");
  CHECK(error("-p 4") ==
        "plumbline: error: search: -m is missing, expected the microbatches per update (such as -m 8)\n");
  CHECK(error("-p 2 -m 2 --placement vee").starts_with("plumbline: error: unknown placement 'vee'"));
  CHECK(error("-p 2 -m 2 -v 2 --placement straight") ==
        "plumbline: error: search: 2 stages per device: placement straight expected 1\n");
  CHECK(error("-p 2 -m 2 -v 3 --placement v") ==
        "plumbline: error: search: 3 stages per device: placement v expected 2\n");
  CHECK(error("-p 2 -m 2 --jitter 0.1").find("--jitter: orders are compared without it") != std::string::npos);
  const CommandResult none = run_command("plumbline search -p 2 -m 4 --memory-limit 0.5", scratch.path());
  CHECK(none.status == 3);
  CHECK(none.err.starts_with("search: no order fits in the memory limit of 0.5: one stage per device"));
}

TEST_CASE("search says for how many stages its bound holds, and has the best order of every number of them") {
  const ScratchDirectory scratch;
  const std::string job = "COLUMNS=200 plumbline search -p 4 -m 8 --cost F=2,I=3,W=1 --nodes 100 --simulations 0";
  const std::string open = run_command(job, scratch.path()).out;
  CHECK(open.find("\nstages per device  best order") != std::string::npos);
  CHECK(open.find(" stages per device\ngap") != std::string::npos);
  const std::string four = run_command(job + " -v 4", scratch.path()).out;
  CHECK(four.find(" and 4 stages per device\n") != std::string::npos);
  CHECK(four.find("\nstages per device  best order") == std::string::npos);
  CHECK(four.find("4 stages per device, looped, split backwards") != std::string::npos);
}

TEST_CASE("no order is listed twice") {
  SearchQuestion question;
  question.devices = 4;
  question.microbatches = 12;
  question.simulations = 100;
  question.nodes = 1'000;
  question.costs.memory_limit = "3";
  const OrderSearchAnswer answer = question.answer();
  const auto& orders = answer.found.orders;
  for (std::size_t i = 0; i < orders.size(); ++i) {
    for (std::size_t k = i + 1; k < orders.size(); ++k) {
      CAPTURE(orders[i].name);
      const bool is_same = orders[i].name == orders[k].name && orders[i].schedule.devices == orders[k].schedule.devices;
      CHECK_FALSE(is_same);
    }
  }
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

TEST_CASE("a search from a schedule says when another schedule of the catalogue is shorter for the same work") {
  using namespace plumb::testing;
  const ScratchDirectory scratch;
  const std::string job = " -p 4 -m 8 --simulations 100 --json found.json";
  const CommandResult started = run_command("COLUMNS=200 plumbline search 1f1b" + job, scratch.path());
  REQUIRE(started.status == 0);
  CHECK(started.out.find("33 for whole backwards and 1 stage per device") != std::string::npos);
  CHECK(started.out.find("best of the catalogue  zb-v, 25.5, 22.7 % shorter") != std::string::npos);
  CHECK(file_text(scratch.path() / "found.json").find("\"best_of_catalogue\"") != std::string::npos);
  // Stages of --per-stage would be more work on zb-v.
  const CommandResult unequal = run_command("plumbline search 1f1b --per-stage" + job, scratch.path());
  CHECK(unequal.out.find("best of the catalogue") == std::string::npos);
}

TEST_SUITE_END();
