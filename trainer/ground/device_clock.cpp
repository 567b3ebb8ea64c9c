#include "trainer/ground/device_clock.hpp"

#include <ctime>

#include <algorithm>

namespace plumb {

std::int64_t ProcessorClock::processor_ns() {
  constexpr std::int64_t kNsOfSeconds = 1'000'000'000;
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<std::int64_t>(used.tv_sec) * kNsOfSeconds + used.tv_nsec;
}

void ProcessorClock::sleep_until(Ticks moment) { shown_ += std::max<Ticks>(0, moment - now()); }

bool ProcessorClock::set_working(bool works) {
  const bool before = works_;
  if (before == works) return before;
  if (before) {
    shown_ = now();
  } else {
    since_ = processor_ns();
  }
  works_ = works;
  return before;
}

void RunClocks::restart() {
  wall_.restart();
  for (ProcessorClock& clock : own_) clock.restart();
}

}  // namespace plumb
