#include "tools/options/launch_arguments.hpp"

#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "tests/support/run_command.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/support/source_directory.hpp"

TEST_SUITE_BEGIN("tools");

namespace {

using namespace plumb;

std::string launch_file(const std::string& name) { return testing::in_source("tests/models/launches/data/" + name); }

/// Lines of a table that begin with `title`.
std::string table_row(const std::string& text, const std::string& title) {
  const std::size_t begin = text.find("\n" + title);
  return begin == std::string::npos ? "" : text.substr(begin + 1, text.find('\n', begin + 1) - begin - 1);
}

}  // namespace

TEST_CASE("a job of a launch file takes as long and as much memory as the same options by hand") {
  const testing::ScratchDirectory scratch;
  const auto run = [&](const std::string& options) {
    return testing::run_command("plumbline simulate " + options + " --cluster h100-2x8 --summary", scratch.path()).out;
  };
  const std::string job = run("--job " + launch_file("megatron.log"));
  const std::string by_hand =
      run("1f1b -p 4 -m 32 --network llama3-70b --tp 2 --sequence-parallel --dp 2 "
          "--microbatch-size 1 --zero 1 --runtime megatron --partition equal");
  REQUIRE(table_row(job, "step time") != "");
  CHECK(table_row(job, "step time") == table_row(by_hand, "step time"));
  CHECK(table_row(job, "total") == table_row(by_hand, "total"));
  CHECK(table_row(job, "largest") == table_row(by_hand, "largest"));
}

TEST_CASE("options replace what a launch file says, and the cluster takes its size from it") {
  LaunchArguments launch{.file = launch_file("gpt3_175b.sh"), .set = {}, .arguments = {}};
  LaunchJob job = launch.read();
  CHECK(launch_cluster(job, "h100") == "h100-16x8");
  CHECK(launch_cluster(job, "h100-32x8") == "h100-32x8");
  CHECK_THROWS_AS(launch_cluster(job, ""), Error);
  std::string schedule;
  ScheduleArguments size;
  CostArguments costs;
  SimulationArguments simulation;
  costs.cluster = "h100";
  costs.job.degrees.tensor = 4;
  apply_launch(job, {schedule, size, costs, simulation});
  CHECK(schedule == "1f1b");
  CHECK(size.devices == 16);
  CHECK(job.parallelism.data == 2);
  CHECK(size.microbatches == 768);
  CHECK(simulation.runtime == "megatron");
  CHECK(costs.partition.starts_with("13,12,12,"));
}

TEST_CASE("a job without network or cluster is refused with what is missing") {
  const testing::ScratchDirectory scratch;
  const auto refusal = [&](const std::string& options) {
    const auto result = testing::run_command("plumbline simulate --job " + options, scratch.path());
    CHECK(result.status == 2);
    return result.err;
  };
  CHECK(refusal(launch_file("zero3.json") + " --cluster h100").find("expected --network NAME|FILE") !=
        std::string::npos);
  CHECK(refusal(launch_file("gpt3_175b.sh")).find("the file says 16 nodes of 8 devices") != std::string::npos);
  CHECK(refusal(launch_file("gpt3_175b.sh") + " --cluster h100-3x8").find("expected a multiple") != std::string::npos);
}

TEST_SUITE_END();
