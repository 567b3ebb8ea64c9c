#include "tools/tables/timeline_text.hpp"

#include <cstdlib>

#include <doctest/doctest.h>

#include <string>

TEST_SUITE_BEGIN("tools");

using namespace plumb;

TEST_CASE("a number of send buffers that was overruled is a row of the table, with what was done instead") {
  REQUIRE(::setenv("COLUMNS", "300", 1) == 0);
  Timeline timeline;
  timeline.schedule = "zb-v";
  CHECK(figures_text(timeline).find("send buffers") == std::string::npos);
  timeline.send_buffers = SendBuffers{.asked = 1, .used = 3, .waits_moved = 4, .receives_moved = 2};
  const std::string text = figures_text(timeline);
  const std::size_t at = text.find("send buffers");
  REQUIRE(at != std::string::npos);
  CHECK(text.substr(at, text.find('\n', at) - at)
            .find("3 in use, 1 asked for: 4 waits for sends put off, or messages that travel only once they are "
                  "received would "
                  "hang; 2 receives posted earlier") != std::string::npos);
  timeline.send_buffers = SendBuffers{.asked = 1, .used = 2, .waits_moved = 0, .receives_moved = 0};
  CHECK(figures_text(timeline).find("2 in use, 1 asked for\n") != std::string::npos);
  ::unsetenv("COLUMNS");
}

TEST_CASE("a utilization of whole steady periods is told as one, that of the makespan is not") {
  REQUIRE(::setenv("COLUMNS", "300", 1) == 0);
  Timeline timeline;
  timeline.makespan = Ticks{100};
  timeline.devices.resize(2);
  for (DeviceSummary& device : timeline.devices) device.useful = Ticks{80};
  timeline.utilization = 0.8;
  CHECK(figures_text(timeline).find("80.00 %\n") != std::string::npos);
  timeline.bubble_fraction = 0.1;
  timeline.utilization = 1;
  timeline.asynchronous = true;
  timeline.steady = true;
  CHECK(figures_text(timeline).find("100.00 % in the steady state\n") != std::string::npos);
  ::unsetenv("COLUMNS");
}

TEST_CASE("the step time of an asynchronous run says whether it is that of the steady state") {
  REQUIRE(::setenv("COLUMNS", "300", 1) == 0);
  Timeline timeline;
  timeline.makespan = 50 * timeline.base.ticks_per_ns;
  timeline.updates = 2;
  timeline.step_time = 25 * timeline.base.ticks_per_ns;
  CHECK(figures_text(timeline).find("25 ns\n") != std::string::npos);
  timeline.asynchronous = true;
  CHECK(figures_text(timeline).find("25 ns, a share of the makespan, because no steady state is reached") !=
        std::string::npos);
  timeline.steady = true;
  CHECK(figures_text(timeline).find("25 ns in the steady state\n") != std::string::npos);
  ::unsetenv("COLUMNS");
}

TEST_SUITE_END();
