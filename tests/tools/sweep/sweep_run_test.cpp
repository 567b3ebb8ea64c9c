#include <doctest/doctest.h>

#include "tests/support/run_command.hpp"
#include "tests/support/scratch_directory.hpp"

TEST_SUITE_BEGIN("tools");

using namespace plumb::testing;

TEST_CASE("a sweep refuses points that are too large to be simulated whole, before it takes their memory") {
  const ScratchDirectory scratch;
  const std::string large = "plumbline sweep 1f1b -p 65536 -m 100000 --cost F=1,B=2";
  for (const std::string& how : {std::string(" --html page.html"), std::string(" --jitter 0.1 --runs 2"),
                                 std::string(" --jitter 0.1 --runs 1 --csv -")}) {
    CAPTURE(how);
    const CommandResult result = run_command(large + how, scratch.path());
    CHECK(result.status == 2);
    CHECK(result.err.starts_with("plumbline: error: schedule '1f1b' has 13107265536 actions"));
    CHECK(result.err.find("; expected at most 2147483648 (they would take about ") != std::string::npos);
    CHECK(scratch.listing() == "");
  }
}

TEST_CASE("an order that is decided at run time is refused where the run is too large") {
  const ScratchDirectory scratch;
  const CommandResult result =
      run_command("plumbline simulate 1f1b -p 65536 -m 100000 --order ready --cost F=1,B=2", scratch.path());
  CHECK(result.status == 2);
  CHECK(result.err.find("; expected at most 2147483648") != std::string::npos);
}

TEST_SUITE_END();
