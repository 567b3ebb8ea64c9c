#include <doctest/doctest.h>

#include <map>
#include <string>

#include "tests/support/simulated.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb::testing {
namespace {

double weipipe(const std::string& pass, int p, int m, const std::string& cost) {
  const Timeline timeline = simulated({.name = "weipipe", .p = p, .m = m, .cost = cost, .options = {{"pass", pass}}});
  return in_units(timeline.makespan, timeline.base);
}

}  // namespace

TEST_CASE("weipipe in lock step takes m + p - 1 times a forward, a backward and the messages of a turn") {
  for (const int p : {2, 4, 8}) {
    for (const int each : {2, 4}) {
      const int m = p * each;
      CAPTURE(p);
      CAPTURE(m);
      CHECK(weipipe("after", p, m, "F=1,B=2") == 3 * (m + p - 1));
      CHECK(weipipe("after", p, m, "F=1,B=2,comm=0.5") == 3.5 * (m + p - 1));
    }
  }
}

TEST_CASE("weights of weipipe that travel beside the work are hidden, but for the way to the last worker") {
  for (const int p : {2, 4, 8}) {
    for (const int m : {2 * p, 4 * p}) {
      CAPTURE(p);
      CAPTURE(m);
      CHECK(weipipe("before", p, m, "F=1,B=2,comm=0.5") == 3 * m + 0.5 * (p - 1));
      CHECK(weipipe("before", p, m, "F=1,B=2,comm=1") == 3 * m + (p - 1));
    }
  }
}

}  // namespace plumb::testing

TEST_SUITE_END();
