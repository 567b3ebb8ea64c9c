#include "tools/training/demo_run.hpp"

#include <doctest/doctest.h>

#include <thread>

TEST_SUITE_BEGIN("tools");

using namespace plumb;

TEST_CASE("rounds that lost little count; where few did, the calmest half") {
  using Rounds = std::vector<std::size_t>;
  CHECK(calm_rounds({0.001, 0.3, 0.0, 0.019, 0.01}, 0.02) == Rounds{0, 2, 3, 4});
  CHECK(calm_rounds({0.5, 0.2, 0.4, 0.1, 0.3}, 0.02) == Rounds{1, 3, 4});
  CHECK(calm_rounds({0.0, 0.0}, 0.02) == Rounds{0, 1});
  CHECK(calm_rounds({0.9}, 0.02) == Rounds{0});
}

TEST_CASE("stolen time and time slices lost are added, the slices spread over the threads") {
  CHECK(Disturbance{.steal = 0.1, .switches = 100, .seconds = 3}.lost(2) == doctest::Approx(0.1 + 0.05));
  CHECK(Disturbance{}.lost(2) == 0);
}

TEST_CASE("processors that other programs leave too few of are lost; where enough are left nothing is") {
  // Two threads on two processors that others keep busy by 1.88: they have 0.12 of two left.
  CHECK(Disturbance{.seconds = 10, .processors = 2, .others = 1.88}.lost(2) == doctest::Approx(0.94));
  CHECK(Disturbance{.seconds = 10, .processors = 64, .others = 30}.lost(2) == 0);
  CHECK(Disturbance{.seconds = 10, .processors = 64, .others = 63}.lost(2) == doctest::Approx(0.5));
  CHECK(Disturbance{.seconds = 10, .processors = 2, .others = 5}.lost(2) == 1);
}

TEST_CASE("a watch counts time, and how often busy threads that outnumber the processors are taken off them") {
  const DisturbanceWatch watch;
  std::vector<std::thread> threads;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  for (unsigned k = 0; k < 2 * std::thread::hardware_concurrency() + 2; ++k) {
    threads.emplace_back([end] {
      while (std::chrono::steady_clock::now() < end) {
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Disturbance read = watch.read();
  CHECK(read.seconds >= 0.2);
  CHECK(read.switches > 0);
  CHECK(read.steal >= 0);
  CHECK(read.steal <= 1);
  CHECK(read.others >= 0);
  CHECK(read.others <= read.processors + 0.5);  // clock ticks are coarse
}

TEST_SUITE_END();
