#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "tests/support/run_command.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/support/source_directory.hpp"

TEST_SUITE_BEGIN("tools");

namespace {

using namespace plumb::testing;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const std::string kPython = "exec:" + plumb::testing::in_source("tools/examples/one_forward_ahead.py");

/// A shell script of the directory that may be run.
void write_program(const ScratchDirectory& scratch, const std::string& name, const std::string& body) {
  scratch.write(name, "#!/bin/sh\n" + body);
  std::filesystem::permissions(scratch.path() / name, std::filesystem::perms::owner_all);
}

}  // namespace

TEST_CASE("a program that prints a schedule stands wherever a name does") {
  const ScratchDirectory scratch;
  const std::string size = " -p 2 -m 4 ";
  const CommandResult simulated =
      run_command("plumbline simulate " + kPython + size + "--cost F=1,B=2", scratch.path());
  CHECK(simulated.status == 0);
  CHECK(contains(simulated.out, ": 15 units a step"));
  CHECK(run_command("plumbline train " + kPython + size + "--network gpt-tiny --executor serial", scratch.path())
            .status == 0);
  CHECK(run_command(
            "plumbline schedule " + kPython + size + "-o own.json && plumbline validate own.json --torch-transfers all",
            scratch.path())
            .status == 0);
  CHECK(contains(run_command("plumbline schedule " + kPython + size + "--explain", scratch.path()).out, "_load_csv"));
  CHECK(
      contains(run_command("plumbline sweep " + kPython + " -p 2,4 -m 8 --cost F=1,B=2", scratch.path()).out, "27.27"));
  const CommandResult sweep =
      run_command("COLUMNS=200 plumbline sweep own.json -p 2,4 -m 4 --cost F=1,B=2", scratch.path());
  CHECK(contains(sweep.out, ": 15 units a step"));
  CHECK(contains(sweep.out, "own.json: is of 2 devices and 4 microbatches, expected this point's size"));
}

TEST_CASE("the example through the C++ API prints a document that is simulated") {
  const ScratchDirectory scratch;
  const CommandResult printed = run_command("own_schedule -p 2 -m 4 > own.json", scratch.path());
  CHECK(printed.status == 0);
  CHECK(printed.err == "bubble 33.3333 %\n");
  const CommandResult simulated = run_command("plumbline simulate own.json --cost F=1,B=2 --summary", scratch.path());
  CHECK(contains(simulated.out, "bubble        33.33 %"));
  CHECK(run_command("plumbline simulate exec:$(command -v own_schedule) -p 3 -m 6 --cost F=1,B=2", scratch.path())
            .status == 0);
}

TEST_CASE("a schedule is read from standard input in any format") {
  const ScratchDirectory scratch;
  for (const std::string format : {"json", "torch-csv", "text"}) {
    CAPTURE(format);
    const CommandResult result = run_command(
        "plumbline schedule 1f1b -p 2 -m 4 --format " + format + " | plumbline simulate - --cost F=1,B=2 --summary",
        scratch.path());
    CHECK(result.status == 0);
    CHECK(contains(result.out, ": 15 units a step"));
  }
}

TEST_CASE("a program gets what was asked for, and its size is checked") {
  const ScratchDirectory scratch;
  write_program(scratch, "echoing", "echo \"$@\" >arguments\necho 0F0,0B0\n");
  CHECK(run_command("plumbline schedule exec:./echoing -p 1 -m 1 -v 2 --updates 3 --opt a=b", scratch.path()).status ==
        0);
  CHECK(file_text(scratch.path() / "arguments") == "-p 1 -m 1 -v 2 --updates 3 --opt a=b\n");
  CHECK(run_command("plumbline schedule exec:./echoing -p 2 -m 1", scratch.path()).err ==
        "plumbline: error: exec:./echoing: printed a schedule with 1 devices, expected the 2 of the command line\n");
}

TEST_CASE("a program that fails is reported with its status") {
  const ScratchDirectory scratch;
  write_program(scratch, "failing", "echo no idea >&2\nexit 3\n");
  write_program(scratch, "silent", "exit 0\n");
  scratch.write("odd", "#!/no/such/interpreter\n");
  std::filesystem::permissions(scratch.path() / "odd", std::filesystem::perms::owner_all);
  const CommandResult failing = run_command("plumbline simulate exec:./failing -p 2 -m 2 --cost F=1", scratch.path());
  CHECK(failing.status == 2);
  CHECK(failing.err == "no idea\nplumbline: error: ./failing: ended with status 3, expected 0 and a schedule\n");
  CHECK(run_command("plumbline simulate exec:silent --cost F=1", scratch.path()).err ==
        "plumbline: error: silent: printed nothing, expected a schedule\n");
  CHECK(run_command("plumbline simulate exec:./odd --cost F=1", scratch.path()).err ==
        "plumbline: error: ./odd: cannot run: No such file or directory\n");
}

TEST_SUITE_END();
