#include <string>

#include <doctest/doctest.h>

#include "tests/support/run_command.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/support/source_directory.hpp"
#include "tools/terminal/text_table.hpp"
#include "tools/terminal/words.hpp"

TEST_SUITE_BEGIN("tools");

using namespace plumb::testing;

TEST_CASE("the first commands of newcomers are answered as the page of journeys shows, in 80 columns") {
  const ScratchDirectory scratch;
  const std::string folder = std::string(in_source("results/journeys")) + "/";
  const CommandResult answers =
      run_command("'" + folder + "first_commands.sh' '" + program().string() + "'", scratch.path());
  CAPTURE(answers.err);
  CHECK(answers.status == 0);
  CHECK(answers.out == file_text(folder + "first_commands.txt"));
  for (const std::string& line : plumb::split(answers.out, '\n')) {
    CAPTURE(line);
    const bool is_ours = line.starts_with("== ") || line.starts_with("$ ") || line.starts_with("plumbline: note: ");
    CHECK((is_ours || plumb::display_width(line) <= 80));
  }
}

TEST_SUITE_END();
