#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/run_command.hpp"
#include "tests/support/scratch_directory.hpp"

TEST_SUITE_BEGIN("tools");

namespace {

using plumb::testing::CommandResult;
using plumb::testing::run_command;
using plumb::testing::ScratchDirectory;

constexpr const char* kHead = "what would help";

CommandResult simulated(const std::string& options) {
  const ScratchDirectory scratch;
  return run_command("COLUMNS=200 plumbline simulate 1f1b --network llama3-70b --cluster h100-8x8 --summary " + options,
                     scratch.path());
}

/// The rows of the table: the options of each change, and whether it is said to fit.
std::vector<std::pair<std::string, bool>> changes_in(const std::string& out) {
  std::vector<std::pair<std::string, bool>> changes;
  const std::size_t head = out.find(kHead);
  if (head == std::string::npos) return changes;
  std::size_t line = out.find('\n', head) + 1;
  while (out.compare(line, 2, "--") == 0) {
    const std::string row = out.substr(line, out.find('\n', line) - line);
    changes.emplace_back(row.substr(0, row.find("  ")), row.find("does not fit") == std::string::npos);
    line += row.size() + 1;
  }
  return changes;
}

/// `options` with those of `change` instead of the same ones.
std::string changed(std::string options, const std::string& change) {
  for (const char* option : {"-m ", "--microbatch-size ", "--tp "}) {
    const std::size_t at = options.find(option);
    if (at == std::string::npos || change.find(option) == std::string::npos) continue;
    options.erase(at, options.find(' ', options.find(' ', at) + 1) - at);
  }
  return options + " " + change;
}

}  // namespace

TEST_CASE("every change that is said to help is run as it is printed, and fits or not as was said") {
  for (const std::string job : {"-p 8 -m 32 --tp 8 ", "-p 4 -m 16 --tp 4 --microbatch-size 2 --dp 4 "}) {
    const CommandResult tight = simulated(job);
    REQUIRE(tight.status == 3);
    const auto changes = changes_in(tight.out);
    REQUIRE(changes.size() >= 2);
    CHECK(changes.front().second);
    for (const auto& [change, fits] : changes) {
      CAPTURE(changed(job, change));
      CHECK(simulated(changed(job, change)).status == (fits ? 0 : 3));
    }
  }
}

TEST_CASE("what recomputation and sequence parallelism save is what Korthikanti et al. print for their 22B model") {
  // arXiv 2205.05198: 59.25 GiB of activations in figure 1; what is left of them in figure 7. Table 4 has the times.
  const ScratchDirectory scratch;
  const CommandResult result = run_command(
      "plumbline simulate 1f1b -p 1 -m 1 --network megatron-22b --cluster a100-1x8 --tp 8 --microbatch-size 4 "
      "--no-flash-attention --dropout --summary",
      scratch.path());
  const auto saved = [&](const std::string& change) {
    const std::size_t row = result.out.find("\n" + change + "  ");
    REQUIRE(row != std::string::npos);
    constexpr double kHeadroom = 1.05;  // of the allocator, which tensors that are not there do not need
    return std::stod(result.out.substr(result.out.find_first_not_of(' ', row + 1 + change.size()))) / kHeadroom;
  };
  const double activations = 59.25;
  CHECK(saved("--recompute full") == doctest::Approx(activations * (1 - 0.0764)).epsilon(0.03));
  CHECK(saved("--recompute selective") == doctest::Approx(activations * (1 - 0.4942)).epsilon(0.03));
}

TEST_CASE("a ZeRO stage that the runtime does not have beside a pipeline is not said to help") {
  const std::string job = "-p 4 -m 16 --tp 4 --microbatch-size 2 --dp 4 ";
  CHECK(simulated(job).out.find("--zero 2") != std::string::npos);
  for (const std::string runtime : {"deepspeed", "megatron", "megatron-batched"}) {
    CAPTURE(runtime);
    const std::string out = simulated(job + "--runtime " + runtime).out;
    CHECK(out.find(kHead) != std::string::npos);
    CHECK(out.find("--zero 2") == std::string::npos);
    CHECK(out.find("--zero 3") == std::string::npos);
  }
  CHECK(simulated(job + "--runtime torchtitan").out.find("--zero 2") != std::string::npos);
}

TEST_CASE("a job that fits is told nothing") {
  CHECK(simulated("-p 8 -m 32 --tp 8 --sequence-parallel").out.find(kHead) == std::string::npos);
}

TEST_SUITE_END();
