#include "tools/formats/schedule_program.hpp"

#include <chrono>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "tests/support/error_message.hpp"
#include "tests/support/run_command.hpp"
#include "tests/support/scratch_directory.hpp"

TEST_SUITE_BEGIN("tools");

namespace {

using namespace plumb::testing;
using namespace std::chrono_literals;

/// A shell script of the directory that may be run; it leaves the file "ran".
std::string write_script(const ScratchDirectory& scratch, const std::string& name, const std::string& body) {
  scratch.write(name, "#!/bin/sh\n: >\"" + (scratch.path() / "ran").string() + "\"\n" + body);
  std::filesystem::permissions(scratch.path() / name, std::filesystem::perms::owner_all);
  return (scratch.path() / name).string();
}

bool was_run(const ScratchDirectory& scratch) { return std::filesystem::exists(scratch.path() / "ran"); }

}  // namespace

TEST_CASE("no command runs an executable file that is not asked for by exec:, and validate and convert run none") {
  const ScratchDirectory scratch;
  write_script(scratch, "evil", "echo 0F0,0B0\n");
  write_script(scratch, "evil.JSON", "echo 0F0,0B0\n");
  const std::string script = ": is a program, expected a schedule; exec:";
  for (const std::string command :
       {"simulate evil --cost F=1", "simulate ./evil -p 1 -m 1 --cost F=1", "simulate ./evil.JSON --cost F=1",
        "validate ./evil", "convert ./evil out.json", "schedule ./evil", "train ./evil --network gpt-tiny"}) {
    CAPTURE(command);
    const CommandResult result = run_command("plumbline " + command, scratch.path());
    CHECK(result.status == 2);
    CHECK(result.err.find(script) != std::string::npos);
    CHECK(!was_run(scratch));
  }
  CHECK(run_command("plumbline sweep ./evil -p 1 -m 1 --cost F=1", scratch.path()).err.find(script) !=
        std::string::npos);
  CHECK(!was_run(scratch));
  for (const std::string command : {"validate exec:./evil", "convert exec:./evil out.json"}) {
    CAPTURE(command);
    const CommandResult result = run_command("plumbline " + command, scratch.path());
    CHECK(result.status == 2);
    CHECK(result.err ==
          "plumbline: error: exec:./evil: this command runs no programs, expected a file (`plumbline "
          "schedule exec:FILE -o OUT` writes one)\n");
    CHECK(!was_run(scratch));
  }
  CHECK(run_command("plumbline simulate exec:evil --cost F=1", scratch.path()).status == 0);
  CHECK(was_run(scratch));
}

TEST_CASE("an executable document is read as what it is") {
  const ScratchDirectory scratch;
  CHECK(run_command("plumbline schedule 1f1b -p 2 -m 2 -o d.json && mv d.json document && chmod +x document && "
                    "plumbline validate ./document && plumbline simulate document --cost F=1",
                    scratch.path())
            .status == 0);
}

TEST_CASE("a program that does not end is killed with what it has started, and the limit is told") {
  const ScratchDirectory scratch;
  const std::string pid_file = (scratch.path() / "pid").string();
  const std::string path = write_script(scratch, "sleeper", "sleep 1000 & echo $! >" + pid_file + "\nwait\n");
  CHECK(error_message([&] { plumb::schedule_program_output("exec:" + path, {}, {.time = 1500ms}); }) ==
        path + ": has not ended after 1.500 s, expected a schedule by then; the program was killed");
  // The sleeping program is gone, or is nothing but a status that nobody has asked for yet.
  CHECK(
      run_command("for try in $(seq 100); do test -s pid && ! grep -qs '^State:.[^Z]' /proc/$(cat pid)/status && exit; "
                  "sleep 0.1; done; exit 1",
                  scratch.path())
          .status == 0);
}

TEST_CASE("a signal that ends the command ends what its program has started, too") {
  const ScratchDirectory scratch;
  write_script(scratch, "sleeper", "sleep 1000 & echo $! >pid\nwait\n");
  const CommandResult result = run_command(
      "plumbline simulate exec:./sleeper --cost F=1 & for try in $(seq 100); do test -s pid && break; sleep 0.1; done; "
      "kill -TERM $!; wait $!; echo $?; "
      "for try in $(seq 100); do grep -qs '^State:.[^Z]' /proc/$(cat pid)/status || exit 0; sleep 0.1; done; exit 1",
      scratch.path());
  CHECK(result.out == "143\n");
  CHECK(result.status == 0);
}

TEST_CASE("a program that closes its output but goes on is killed, too") {
  const ScratchDirectory scratch;
  const std::string path = write_script(scratch, "closing", "echo 0F0,0B0\nexec >&-\nexec sleep 1000\n");
  CHECK(error_message([&] { plumb::schedule_program_output("exec:" + path, {}, {.time = 300ms}); }) ==
        path + ": has not ended after 0.300 s, expected a schedule by then; the program was killed");
}

TEST_CASE("a program that prints without end is killed at the limit") {
  const ScratchDirectory scratch;
  const std::string path = write_script(scratch, "endless", "exec yes 0F0\n");
  CHECK(error_message([&] { plumb::schedule_program_output("exec:" + path, {}, {.output_bytes = 1'000'000}); }) ==
        path + ": printed more than 1000000 bytes, expected a schedule that is shorter; the program was killed");
}

TEST_CASE("exec: without a file is refused") {
  CHECK(error_message([] { plumb::schedule_program_output("exec:", {}); }) ==
        "exec:: the file is missing, expected exec:FILE");
}

TEST_SUITE_END();
