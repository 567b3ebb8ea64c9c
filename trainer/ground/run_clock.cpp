#include "trainer/ground/run_clock.hpp"

#include <sys/prctl.h>

#include <cmath>
#include <ctime>

namespace plumb {
namespace {

/// A thread that sleeps is woken this much early at most, and turns until the moment has come.
constexpr std::int64_t kTurningNs = 60'000;
constexpr std::int64_t kNsOfSecond = 1'000'000'000;

/// Linux wakes threads up to 50 us late on purpose, unless they ask it not to.
void ask_for_exact_timers() {
  thread_local const bool asked = prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL) == 0;
  static_cast<void>(asked);
}

}  // namespace

Ticks RunClock::now() const {
  const std::int64_t ns = steady_ns() - origin_ns_;
  return ticks_per_ns_ == 1 ? ns : std::llround(static_cast<double>(ns) * ticks_per_ns_);
}

std::int64_t RunClock::steady_ns_at(Ticks moment) const {
  if (ticks_per_ns_ == 1) return origin_ns_ + moment;
  return origin_ns_ + static_cast<std::int64_t>(std::ceil(static_cast<double>(moment) / ticks_per_ns_));
}

void RunClock::sleep_until(Ticks moment) {
  const std::int64_t deadline = steady_ns_at(moment);
  const std::int64_t wake = deadline - kTurningNs;
  if (wake > steady_ns()) {
    ask_for_exact_timers();
    const timespec at{.tv_sec = wake / kNsOfSecond, .tv_nsec = wake % kNsOfSecond};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) != 0) continue;  // interrupted by a signal
  }
  while (steady_ns() < deadline) continue;
}

}  // namespace plumb
