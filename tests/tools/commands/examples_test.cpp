#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/run_command.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/support/source_directory.hpp"
#include "tools/command_line/examples.hpp"
#include "tools/commands/command.hpp"

TEST_SUITE_BEGIN("tools");

using namespace plumb::testing;

namespace {

/// The lines below "next:" at the end of an answer; empty where there are none.
std::string next_of(const std::string& answer) {
  constexpr std::string_view kTitle = "\nnext:\n";
  const std::size_t at = answer.rfind(kTitle);
  return at == std::string::npos ? "" : answer.substr(at + kTitle.size());
}

}  // namespace

TEST_CASE(
    "the examples of every help run, and so do the commands that their answers propose, in the order of the commands") {
  const ScratchDirectory scratch;
  std::filesystem::create_symlink(program(), scratch.path() / "plumbline");
  for (const int rank : {0, 1, 2, 3}) {
    const std::string name = "rank" + std::to_string(rank) + ".json.gz";
    std::filesystem::copy_file(in_source("tests/sim/traces/data/zb-h1/" + name), scratch.path() / name);
  }
  // Minutes, files that only their users have, or a page that is made apart (tests/web).
  const std::vector<std::string> left_out{
      "plan --network llama3",      "plan llama3", "demo", "reproduce", "device import", "device fit",
      "profile --network gpt-mini", "explore"};
  int ran = 0;
  std::set<std::string> proposed;  // what is proposed twice runs once
  for (const plumb::Command& command : plumb::command_table({})) {
    for (const plumb::Example& example : *plumb::examples_of(command.name)) {
      const std::string line(example.command);
      if (std::ranges::any_of(left_out, [&](const std::string& begin) { return line.starts_with(begin); })) continue;
      CAPTURE(line);
      const CommandResult result = run_command("./plumbline " + line, scratch.path());
      CAPTURE(result.err);
      CHECK(result.status == 0);
      ++ran;
      const std::string next = next_of(result.out);
      if (next.empty() || !proposed.insert(next).second) continue;
      CAPTURE(next);
      const CommandResult after = run_command(next, scratch.path());
      CAPTURE(after.err);
      CHECK(after.status == 0);
    }
  }
  CHECK(ran > 40);
  CHECK(proposed.size() > 15);
}

TEST_SUITE_END();
