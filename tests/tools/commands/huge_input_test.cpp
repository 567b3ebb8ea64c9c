#include <string>

#include <doctest/doctest.h>

#include "tests/support/run_command.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/scratch_directory.hpp"

TEST_SUITE_BEGIN("tools");

namespace plumb::testing {
namespace {

/// Runs the command where the shell allows 1.5 GB of memory; the single line that it says.
std::string refused_in_little_memory(const ScratchDirectory& scratch, const std::string& command) {
  CAPTURE(command);
  const CommandResult result = run_command("ulimit -v 1500000; plumbline " + command, scratch.path());
  CHECK(result.status == 2);
  CHECK(result.out.empty());
  return result.err;
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

// 100 million actions take 4.2 GiB to check. With less they used to fail after 9 s as "more memory than is free on this
// machine", which has more.
TEST_CASE(
    "§1.5: checking or writing a huge schedule is refused before it begins, with its memory, its time and the limit") {
  if (kSanitizerAllocates) return;  // the sanitizer needs more address space than that for itself
  const ScratchDirectory scratch;
  const std::string size = "zb-h1 -p 4096 -m 8192";
  for (const std::string& command :
       {"validate " + size, "schedule " + size + " -o huge.json", "schedule " + size + " --explain",
        "validate " + size + " --transfers rendezvous"}) {
    const std::string says = refused_in_little_memory(scratch, command);
    CAPTURE(says);
    CHECK(
        says.starts_with("plumbline: error: schedule 'zb-h1' has 100667392 actions to check: they take about 4.2 GiB "
                         "of memory and 25 s; expected at most 1."));
    CHECK(says.ends_with(" GiB, which this process can get\n"));
  }
  CHECK(run_command("test ! -e huge.json", scratch.path()).status == 0);
}

TEST_CASE(
    "§1.5: the transfers of a large schedule as PyTorch would issue them are refused before anything is checked") {
  if (kSanitizerAllocates) return;
  const ScratchDirectory scratch;
  const std::string says = refused_in_little_memory(scratch, "validate 1f1b -p 1024 -m 4096 --torch-transfers all");
  CAPTURE(says);
  CHECK(
      says.starts_with("plumbline: error: schedule '1f1b' has 8389632 actions to check: they take about 3.3 GiB of "
                       "memory and 13 s; expected at most 1."));
}

TEST_CASE("§1.5: a document of long repeats is not unfolded to text where that takes more memory than there is") {
  if (kSanitizerAllocates) return;
  const ScratchDirectory scratch;
  REQUIRE(run_command("plumbline schedule gpipe -p 2 -m 100000000 -o folded.json", scratch.path()).status == 0);
  const std::string says = refused_in_little_memory(scratch, "convert folded.json unfolded.txt");
  CAPTURE(says);
  CHECK(
      says.starts_with("plumbline: error: folded.json: 400000002 actions to write as text, which has no repeats: they "
                       "take about 4.5 GiB of memory and 20 s; expected at most 1."));
  CHECK(run_command("ulimit -v 1500000; plumbline convert folded.json again.json", scratch.path()).status == 0);
}

TEST_CASE("§1.5: a page or a trace of more spans than it can show is refused before the run") {
  if (kSanitizerAllocates) return;
  const ScratchDirectory scratch;
  const std::string simulate = "simulate zb-h1 -p 512 -m 8192 --cost F=1 ";
  CHECK(refused_in_little_memory(scratch, simulate + "--html page.html") ==
        "plumbline: error: HTML report: at least 12582912 spans and memory changes, expected at most 4000000 (fewer "
        "microbatches or devices, or --summary)\n");
  CHECK(holds(refused_in_little_memory(scratch, simulate + "--trace trace.json"),
              "trace: at least 12582912 spans and memory changes, expected at most 4000000"));
}

TEST_CASE("input that runs out of memory says what this process may have, not what the machine has") {
  if (kSanitizerAllocates) return;
  const ScratchDirectory scratch;
  REQUIRE(run_command("head -c 200000000 /dev/zero | tr '\\0' '[' > deep.json", scratch.path()).status == 0);
  const CommandResult result = run_command("ulimit -v 400000; plumbline validate deep.json", scratch.path());
  CAPTURE(result.err);
  CHECK(result.status == 2);
  CHECK(
      holds(result.err, "plumbline: error: this input needs more memory than this process can get, which is about 0."));
  CHECK(holds(result.err, " GiB; expected a smaller one\n"));
}

}  // namespace plumb::testing

TEST_SUITE_END();
