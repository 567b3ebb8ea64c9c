#include <doctest/doctest.h>

#include <string>

#include "tests/support/run_command.hpp"

TEST_SUITE_BEGIN("tools");

namespace plumb::testing {
namespace {

std::string summary(const std::string& schedule, const std::string& cost) {
  const ScratchDirectory scratch;
  const CommandResult result =
      run_command("plumbline simulate " + schedule + " -p 4 -m 8 --summary --json - --cost " + cost, scratch.path());
  CHECK(result.status == 0);
  return result.out;
}

}  // namespace

TEST_CASE("recompute takes the time of a forward unless told otherwise, by rule and as actions of the lists") {
  for (const char* schedule : {"varuna", "merak", "gpipe --opt recompute=early", "1f1b --recompute all"}) {
    CAPTURE(schedule);
    CHECK(summary(schedule, "F=1,B=2") == summary(schedule, "F=1,B=2,R=1"));
    CHECK(summary(schedule, "F=1,B=2") != summary(schedule, "F=1,B=2,R=0"));
  }
  CHECK(summary("1f1b", "F=1,B=2") == summary("1f1b", "F=1,B=2,R=1"));
}

}  // namespace plumb::testing

TEST_SUITE_END();
