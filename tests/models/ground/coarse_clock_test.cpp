#include "models/ground/coarse_clock.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <thread>

TEST_SUITE_BEGIN("models");

namespace plumb {

TEST_CASE("the coarse clock never goes back and comes to every limit") {
  const auto begin = CoarseClock::now();
  auto last = begin;
  while (last - begin < std::chrono::milliseconds(10)) {
    const auto now = CoarseClock::now();
    REQUIRE(now >= last);
    last = now;
    std::this_thread::yield();
  }
  CHECK(last - begin >= std::chrono::milliseconds(10));
}

}  // namespace plumb

TEST_SUITE_END();
