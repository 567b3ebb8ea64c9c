#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "tests/support/run_command.hpp"
#include "tests/support/scratch_directory.hpp"

TEST_SUITE_BEGIN("tools");

namespace {

using namespace plumb::testing;

}  // namespace

TEST_CASE("wrong input is told and is no success, whatever a launcher has left in the environment") {
  const ScratchDirectory scratch;
  const std::string message = "plumbline: error: unknown schedule 'nosuch'";
  for (const std::string variable : {"PMI_RANK=1", "PMIX_RANK=3", "OMPI_COMM_WORLD_RANK=2"}) {
    CAPTURE(variable);
    for (const std::string command :
         {"simulate nosuch -p 2 -m 2 --cost F=1", "train nosuch -p 2 -m 2 --network gpt-tiny"}) {
      CAPTURE(command);
      const CommandResult result = run_command(variable + " plumbline " + command, scratch.path());
      CHECK(result.status == 2);
      CHECK(result.err.starts_with(message));
    }
    const CommandResult full =
        run_command(variable + " plumbline simulate 1f1b -p 2 -m 2 --cost F=1 --json /dev/full", scratch.path());
    CHECK(full.status == 2);
    CHECK(full.err.starts_with("plumbline: error: /dev/full: cannot write"));
  }
}

TEST_CASE("no report gets the text of a standard output or error that is closed") {
  const ScratchDirectory scratch;
  const std::string simulate = "plumbline simulate 1f1b -p 2 -m 2 --cost F=1 --json ";
  REQUIRE(run_command(simulate + "a.json --html a.html", scratch.path()).status == 0);
  const CommandResult closed = run_command(simulate + "b.json --html b.html <&- >&- 2>&-", scratch.path());
  CHECK(closed.status == 2);  // the table could not be printed
  for (const std::string file : {".json", ".html"}) {
    CAPTURE(file);
    CHECK(file_text(scratch.path() / ("a" + file)) == file_text(scratch.path() / ("b" + file)));
  }
  CHECK(run_command("plumbline simulate nosuch -p 2 -m 2 2>&-", scratch.path()).status == 2);
  CHECK(run_command("plumbline validate - <&-", scratch.path()).status == 2);
}

TEST_CASE("endless and oversized input is refused by every command that reads a file") {
  const ScratchDirectory scratch;
  REQUIRE(run_command("truncate -s 10G huge.json", scratch.path()).status == 0);
  const auto refused = [&](const std::string& command, const std::string& says) {
    CAPTURE(command);
    const CommandResult result = run_command("plumbline " + command, scratch.path());
    CAPTURE(result.err);
    CHECK(result.status == 2);
    CHECK(result.err.find(says) != std::string::npos);
  };
  const std::string simulate = "simulate 1f1b -p 2 -m 2 ";
  const std::string train = "train 1f1b -p 2 -m 2 --network gpt-tiny ";
  for (const auto& [file, says] : {std::pair<std::string, std::string>{"/dev/zero", "is a device, expected a file"},
                                   {"./huge.json", "./huge.json: has 10737418240 bytes, expected a file ("}}) {
    refused("validate " + file, says);
    refused("convert " + file + " out.json", says);
    refused("simulate " + file + " --cost F=1", says);
    refused("compare " + file + " " + file, says);
    refused(simulate + "--cluster a100 --network " + file, says);
    refused(simulate + "--network gpt-tiny --cluster " + file, says);
    refused(simulate + "--profile " + file, says);
    refused(train + "--data " + file, says);
  }
  refused("validate - </dev/zero", "is a device, expected a file");
}

TEST_SUITE_END();
