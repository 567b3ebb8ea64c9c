#include "trainer/cuda/event_clock.hpp"

#include <cmath>
#include <cstdint>

#include <doctest/doctest.h>

TEST_SUITE_BEGIN("cuda");

namespace plumb::cuda {
namespace {

/// Events that are their own times in nanoseconds, told as CUDA tells them: milliseconds between two, as a float.
float elapsed(std::int64_t from, std::int64_t to) {
  REQUIRE(to >= from);  // the other way round means nothing
  return static_cast<float>(static_cast<double>(to - from) / 1e6);
}

/// The largest error over an hour, in nanoseconds.
double worst(bool anchored) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  constexpr std::int64_t kHour = 3600;
  constexpr std::int64_t kOrigin = 123'456'789;
  EventClock<std::int64_t> clock(elapsed);
  clock.restart(kOrigin, kOrigin);
  double error = 0;
  for (std::int64_t second = 0; second < kHour; ++second) {
    const std::int64_t event = kOrigin + second * kSecond + 987'654'321;
    error = std::max(error, std::abs(static_cast<double>(clock.time_ns(event) - event)));
    if (anchored) clock.add(kOrigin + (second + 1) * kSecond + 7919);
  }
  return error;
}

}  // namespace

TEST_CASE("anchors keep times exact to microseconds over an hour; plain differences are off by far more") {
  CHECK(worst(true) < 5e3);
  CHECK(worst(false) > 10 * worst(true));
}

TEST_CASE("an event before the last anchors is counted from one before it") {
  EventClock<std::int64_t> clock(elapsed);
  clock.restart(0, 1000);
  for (std::int64_t second = 1; second < 10; ++second) clock.add(second * 1'000'000'000);
  CHECK(clock.time_ns(3'500'000'000) == doctest::Approx(3'500'001'000).epsilon(1e-9));
  CHECK(clock.time_ns(5) == 1005);
}

}  // namespace plumb::cuda

TEST_SUITE_END();
