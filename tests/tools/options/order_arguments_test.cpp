#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/support/run_command.hpp"
#include "tests/support/scratch_directory.hpp"

TEST_SUITE_BEGIN("tools");

using namespace plumb::testing;

TEST_CASE(
    "zb-h1 with slow edges takes 41 units as listed and 39 when backwards go first, also from the saved document") {
  const ScratchDirectory scratch;
  const std::string costs = " --cost F=1,I=1,W=1,comm=1 --summary --json - ";
  const auto makespan_ms = [&](const std::string& command) {
    const CommandResult result = run_command(command, scratch.path());
    CHECK(result.status == 0);
    return nlohmann::json::parse(result.out).at("makespan_ns").get<std::int64_t>() / 1'000'000;
  };
  const std::string simulate = "plumbline simulate zb-h1 -p 4 -m 8" + costs;
  CHECK(makespan_ms(simulate) == 41);
  CHECK(makespan_ms(simulate + "--order ready") == 40);
  CHECK(makespan_ms(simulate + "--order backward-first --save-order found.json") == 39);
  CHECK(makespan_ms("plumbline simulate found.json" + costs) == 39);
}

TEST_CASE("the rule of axonn is a document that decides in every run, also of a sweep, and has no lists to write") {
  const ScratchDirectory scratch;
  const std::string rule = " axonn -p 4 -m 8 --opt order=run-time";
  const std::string costs = " --cost F=1,B=2,comm=1";
  CHECK(run_command("plumbline schedule" + rule + " -o axonn.json", scratch.path()).status == 0);
  const CommandResult decided = run_command("plumbline simulate axonn.json --summary --json -" + costs, scratch.path());
  CHECK(nlohmann::json::parse(decided.out).at("makespan_ns").get<std::int64_t>() == 46'000'000);
  const CommandResult swept = run_command("plumbline sweep" + rule + costs + " --csv -", scratch.path());
  CHECK(swept.out.find(",46000000,") != std::string::npos);
  const CommandResult text = run_command("plumbline schedule" + rule + " --format text", scratch.path());
  CHECK(text.status == 2);
  CHECK(text.err.find("--save-order") != std::string::npos);
}

TEST_CASE("an unknown order, and a fixed order to be saved, are refused with what was expected") {
  const ScratchDirectory scratch;
  const std::string simulate = "plumbline simulate 1f1b -p 2 -m 2 --cost F=1,B=2 ";
  const CommandResult unknown = run_command(simulate + "--order redy", scratch.path());
  CHECK(unknown.status == 2);
  CHECK(unknown.err.find("'ready'") != std::string::npos);
  const CommandResult fixed = run_command(simulate + "--save-order o.json", scratch.path());
  CHECK(fixed.status == 2);
  CHECK(fixed.err.find("expected --order ready") != std::string::npos);
  const CommandResult yaml = run_command(simulate + "--order ready --save-order o.yaml", scratch.path());
  CHECK(yaml.status == 2);
  CHECK(yaml.err.find("o.yaml: --save-order writes a schedule document, expected the extension .json") !=
        std::string::npos);
  CHECK(scratch.listing() == "");
}

TEST_CASE("an order decided at run time over a cluster with contention says that it was decided without") {
  const ScratchDirectory scratch;
  const std::string cluster =
      R"({"format": "plumbline-cluster", "version": 1, "name": "two", "nodes": 1, "devices_per_node": 2,
          "device": {"flops_per_s": 36e12, "memory_bytes_per_s": 600e9, "memory_bytes": 80000000000},
          "intra_node": {"latency_ns": 3000, "bytes_per_s": 50e9}, "inter_node": {"latency_ns": 3000, "bytes_per_s": 50e9})";
  scratch.write("alone.json", cluster + "}");
  scratch.write("among.json", cluster + R"(, "contention": {"slowdown": [{"of": "F", "by": "F", "gamma": [0.5]}]}})");
  const std::string simulate = "plumbline simulate 1f1b -p 2 -m 4 --network gpt-tiny --order ready --cluster ";
  CHECK(run_command(simulate + "alone.json", scratch.path()).err.empty());
  const CommandResult among = run_command(simulate + "among.json", scratch.path());
  CHECK(among.status == 0);
  CHECK(among.err ==
        "plumbline: note: the order was decided with times without contention; the run itself includes contention\n");
}

TEST_CASE("a sweep and a run of a document with a policy say so too, once") {
  const ScratchDirectory scratch;
  REQUIRE(run_command("plumbline profile --calm --network gpt-tiny --stages 2 -m 2 --rounds 1 -o alone.json",
                      scratch.path())
              .status == 0);
  std::string profile = file_text(scratch.path() / "alone.json");
  profile.insert(profile.find('{') + 1, R"("contention": {"slowdown": [{"of": "F", "by": "F", "gamma": [0.5]}]}, )");
  scratch.write("among.json", profile);
  scratch.write("policy.json", R"({"format": "plumbline-schedule", "version": 1, "name": "mine", "parameters": {},
          "num_devices": 2, "num_stages": 2, "num_microbatches": 4, "microbatches_per_update": 4, "placement": [[[0], [1]]],
          "weights": {"policy": "flush"}, "policy": {"priorities": ["B", "F"], "limits": 2}})");
  const std::string note =
      "plumbline: note: the order was decided with times without contention; the run itself includes contention\n";
  const auto said = [&](const std::string& command) {
    const CommandResult result = run_command(command + " --network gpt-tiny --profile among.json", scratch.path());
    CAPTURE(result.err);
    CHECK(result.status == 0);
    const std::size_t at = result.err.find(note);
    return at != std::string::npos && result.err.find(note, at + 1) == std::string::npos;
  };
  CHECK(said("plumbline simulate policy.json"));
  CHECK(said("plumbline sweep policy.json -p 2 -m 4"));
  CHECK(said("plumbline train policy.json --steps 1"));
}

TEST_SUITE_END();
