#include "tools/training/growing_file.hpp"

#include <filesystem>

#include <doctest/doctest.h>

#include "tests/support/run_command.hpp"
#include "tests/support/scratch_directory.hpp"

TEST_SUITE_BEGIN("tools");

using namespace plumb;
using testing::file_text;
using testing::ScratchDirectory;

TEST_CASE("a growing file keeps what was there until the first piece, and then has every piece at once") {
  const ScratchDirectory scratch;
  const std::filesystem::path path = scratch.path() / "l.csv";
  {
    GrowingFile before(path.string());
    before.finish("old\n");
  }
  {
    GrowingFile file(path.string());
    CHECK(file_text(path) == "old\n");
    file.add("a\n");
    CHECK(file_text(path) == "a\n");
    file.add("b\n");
  }
  CHECK(file_text(path) == "a\nb\n");
  GrowingFile whole(path.string());
  whole.add("c\n");
  whole.finish("c, too\n");
  CHECK(file_text(path) == "c, too\n");
}

TEST_SUITE_END();
