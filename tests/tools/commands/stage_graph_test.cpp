#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/timeline/timeline_io.hpp"
#include "tests/support/run_command.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/support/source_directory.hpp"

TEST_SUITE_BEGIN("tools");

namespace plumb::testing {
namespace {

std::string stage_graph_file(const std::string& name) {
  return in_source("tests/tools/commands/documents/" + name + ".json");
}

CommandResult run_on_graph(const std::string& command) {
  const ScratchDirectory scratch;
  return run_command("plumbline " + command, scratch.path());
}

CommandResult simulate_graph(const std::string& document, const std::string& options) {
  return run_on_graph("simulate " + stage_graph_file(document) + " " + options);
}

Timeline timeline_of_graph(const std::string& document, const std::string& options) {
  const CommandResult result = simulate_graph(document, options + " --json -");
  REQUIRE(result.status == 0);
  return timeline_from_json(result.out.substr(result.out.find('{')), document);
}

std::string on_network(const std::string& network, const std::string& partition) {
  return "--network " + stage_graph_file(network) + " --cluster " + stage_graph_file("two-devices") + " --partition " +
         partition;
}

}  // namespace

TEST_CASE("§5.3: two edges between the same two steps are two messages, each with its own bytes") {
  const Timeline timeline = timeline_of_graph("two-edges-one-pair", on_network("two-parameters", "1,1"));
  std::vector<Ticks> lengths;
  for (const Span& span : timeline.spans) {
    if (span.lane == Lane::kTransfer && span.end > span.start) lengths.push_back(span.end - span.start);
  }
  // 1 MB of weights of stage 0, then 8 MB of gradients of stage 1, at 1 GB/s.
  CHECK(lengths == std::vector<Ticks>{1'000'000, 8'000'000});
}

TEST_CASE("an empty list of stage edges means that no stage needs another one, and stays in converted documents") {
  CHECK(timeline_of_graph("empty-stage-edges", "--cost F=1,B=2").makespan == 3'000'000);
  const ScratchDirectory scratch;
  for (const char* name : {"copy.json", "copy.txt"}) {
    CAPTURE(name);
    const std::string copy = (scratch.path() / name).string();
    REQUIRE(run_on_graph("convert " + stage_graph_file("empty-stage-edges") + " " + copy).status == 0);
    CHECK(run_on_graph("simulate " + copy + " --cost F=1,B=2").out.find(": 3 units a step") != std::string::npos);
  }
}

TEST_CASE("§3.2: a pair that ends the updates of two holders reduces both gradients before either update") {
  const Timeline timeline = timeline_of_graph("pair-ends-two-updates", "--cost F=1,B=2");
  CHECK(timeline.makespan == 6'000'000);
}

TEST_CASE("§8.3: with a network, edges that do not follow its layers are refused in one line") {
  const auto refused = [](const std::string& document, const std::string& on) {
    const CommandResult result = simulate_graph(document, on);
    CHECK(result.status == 2);
    CHECK(std::ranges::count(result.err, '\n') == 1);
    return result.err.substr(result.err.find("stage_edges: "));
  };
  const std::string expected = "; expected edges that follow the layers of the network\n";
  CHECK(refused("reversed-edges", on_network("two-profiled", "1,1")) ==
        "stage_edges: none leads on from stage 0, which gives 100 bytes" + expected);
  CHECK(refused("fork", on_network("three-profiled", "1,1,1")) ==
        "stage_edges: none leads to stage 1, which takes 100 bytes" + expected);
  CHECK(refused("empty-stage-edges", on_network("two-profiled", "1,1")) ==
        "stage_edges: none leads on from stage 0, which gives 100 bytes" + expected);
  CHECK(timeline_of_graph("fork", "--cost F=1,B=2 --per-stage").makespan == 9'000'000);
}

}  // namespace plumb::testing

TEST_SUITE_END();
