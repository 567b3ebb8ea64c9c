#include "sim/traces/crowd.hpp"

#include <doctest/doctest.h>

TEST_SUITE_BEGIN("sim");

using namespace plumb;

TEST_CASE("the mean number of messages under way counts each for as long as it was there") {
  const Crowd crowd({{100, 200}, {150, 250}, {400, 410}});
  CHECK(crowd.mean(100, 200) == doctest::Approx(1.5));
  CHECK(crowd.mean(150, 250) == doctest::Approx(1.5));
  CHECK(crowd.mean(0, 100) == doctest::Approx(0));
  CHECK(crowd.mean(100, 300) == doctest::Approx(1));
  CHECK(crowd.mean(405, 415) == doctest::Approx(0.5));
}

TEST_CASE("messages that take as much longer as there are more of them share what one can use") {
  CHECK(message_capacity({{1, 100}, {2, 200}, {3, 300}, {2, 200}}, 100) == doctest::Approx(1));
  CHECK(message_capacity({{1, 100}, {2, 100}, {4, 200}, {4, 200}}, 100) == doctest::Approx(2));
}

TEST_CASE("what few messages in a crowd would tell is not known, and one alone goes at full speed") {
  CHECK(message_capacity({{1, 100}, {1, 110}, {2, 300}, {2, 300}}, 100) == 0);
  CHECK(message_capacity({{2, 900}, {2, 900}, {2, 900}}, 100) == 1);
}

TEST_SUITE_END();
