#include "tools/terminal/answer_lines.hpp"

#include <string>

#include <doctest/doctest.h>

#include "tests/support/run_command.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tools/terminal/words.hpp"

TEST_SUITE_BEGIN("tools");

TEST_CASE("a shell joins the lines of a long command to the same words") {
  const plumb::testing::ScratchDirectory scratch;
  std::string command = "printf '%s\\n'";
  std::string expected;
  for (int i = 0; i < 40; ++i) {
    const std::string word = "--option" + std::to_string(i);
    const std::string value = i % 3 == 0 ? "a value of words" : "x=" + std::to_string(i);
    command += " " + word + " " + plumb::shell_word(value);
    expected += word + "\n" + value + "\n";
  }
  const std::string lines = plumb::command_lines(command, 60, 2);
  for (const std::string& line : plumb::split(lines, '\n')) CHECK(line.size() <= 60);
  CHECK(plumb::testing::run_command(lines, scratch.path()).out == expected);
}

TEST_CASE("an answer without a command that comes next says nothing of one") { CHECK(plumb::next_text("").empty()); }

TEST_SUITE_END();
