#include "trainer/ground/device_clock.hpp"

#include <chrono>
#include <thread>

#include <doctest/doctest.h>

TEST_SUITE_BEGIN("trainer");

namespace plumb {

TEST_CASE("the clock of a device's processor stands still while the thread sleeps, and runs while it works") {
  constexpr std::chrono::milliseconds kSleep{50};
  ProcessorClock clock;
  {
    const DeviceClock::Spell works(clock, true);
    std::this_thread::sleep_for(kSleep);
    CHECK(clock.now() < std::chrono::nanoseconds(kSleep).count());
    const Ticks before = clock.now();
    while (clock.now() == before) continue;
    const Ticks after = clock.now();
    const DeviceClock::Spell waits(clock, false);
    const Ticks stands = clock.now();
    CHECK(stands >= after);
    CHECK(clock.now() == stands);
  }
  const Ticks end = clock.now();
  CHECK(clock.now() == end);
  CHECK(end > 0);
}

TEST_CASE(
    "a wait of a device by its processor time ends at the later of its own moment and that of what it waits for") {
  RunClocks clocks(ClockKind::kProcessor, 2, 1);
  clocks.of(0).sleep_until(5000);
  CHECK(clocks.of(0).now() == 5000);
  CHECK(clocks.of(1).now() == 0);
  clocks.of(0).sleep_until(4000);
  CHECK(clocks.of(0).now() == 5000);
  clocks.restart();
  CHECK(clocks.of(0).now() == 0);
}

TEST_CASE("by the wall clock all devices have the same clock") {
  RunClocks clocks(ClockKind::kWall, 2, 1);
  CHECK(&clocks.of(0) == &clocks.of(1));
  CHECK(&clocks.of(0) == &clocks.wall());
  CHECK_FALSE(clocks.gives_times());
}

}  // namespace plumb

TEST_SUITE_END();
