#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "tests/support/run_command.hpp"
#include "tests/support/scratch_directory.hpp"

TEST_SUITE_BEGIN("tools");

namespace plumb::testing {
namespace {

/// The figures of a run, without what its costs are called.
std::string figures(const std::string& schedule, const std::string& cost) {
  const ScratchDirectory scratch;
  const CommandResult result =
      run_command("plumbline simulate " + schedule + " -p 4 -m 8 --summary --json - --cost " + cost, scratch.path());
  CHECK(result.status == 0);
  return result.out.substr(std::min(result.out.find("\"makespan_ns\""), result.out.size()));
}

}  // namespace

TEST_CASE("recompute takes the time of a forward unless told otherwise, by rule and as actions of the lists") {
  for (const std::string schedule : {"varuna", "merak", "gpipe --opt recompute=early", "1f1b --recompute all"}) {
    CAPTURE(schedule);
    CHECK(figures(schedule, "F=1,B=2") == figures(schedule, "F=1,B=2,R=1"));
    CHECK(figures(schedule, "F=1,B=2") != figures(schedule, "F=1,B=2,R=0"));
  }
  CHECK(figures("1f1b", "F=1,B=2") == figures("1f1b", "F=1,B=2,R=1"));
}

}  // namespace plumb::testing

TEST_SUITE_END();
