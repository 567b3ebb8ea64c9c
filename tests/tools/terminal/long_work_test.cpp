#include "tools/terminal/notes.hpp"

#include <doctest/doctest.h>

TEST_SUITE_BEGIN("tools");

using namespace plumb;

TEST_CASE("a run of several seconds is announced with what it takes, a shorter one is not") {
  const CollectedNotes notes;
  note_long_run({.actions = 100'000'000, .bytes = std::int64_t{3} << 30U, .seconds = 4.9});
  CHECK(notes.lines().empty());
  note_long_run({.actions = 300'000'000, .bytes = std::int64_t{3} << 30U, .seconds = 9});
  REQUIRE(notes.lines().size() == 1);
  CHECK(notes.lines().front() == "simulating 300000000 actions: about 9 s and 3 GiB of memory");
  note_long_work("checking", {.actions = 300'000'000, .bytes = std::int64_t{3} << 30U, .seconds = 4.9});
  CHECK(notes.lines().size() == 1);
  note_long_work("checking", {.actions = 300'000'000, .bytes = std::int64_t{3} << 30U, .seconds = 9});
  CHECK(notes.lines().back() == "checking 300000000 actions: about 9 s and 3 GiB of memory");
}

TEST_SUITE_END();
