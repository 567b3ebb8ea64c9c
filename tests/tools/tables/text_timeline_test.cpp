#include "tools/tables/text_timeline.hpp"

#include <doctest/doctest.h>

TEST_SUITE_BEGIN("tools");

namespace {

using namespace plumb;

constexpr Ticks kMs = 1'000'000;

void add(Timeline& timeline, int device, Op op, int microbatch, Ticks start, Ticks end) {
  timeline.spans.push_back({.action = {.stage = StageId{device}, .microbatch = MicrobatchId{microbatch}, .op = op},
                            .device = DeviceId{device},
                            .start = start,
                            .end = end});
}

/// 1F1B with two devices, two microbatches, F = 1 ms, B = 2 ms.
Timeline small() {
  Timeline timeline;
  timeline.devices.resize(2);
  timeline.makespan = 9 * kMs;
  add(timeline, 0, Op::kF, 0, 0, 1 * kMs);
  add(timeline, 0, Op::kF, 1, 1 * kMs, 2 * kMs);
  add(timeline, 0, Op::kB, 0, 4 * kMs, 6 * kMs);
  add(timeline, 0, Op::kB, 1, 7 * kMs, 9 * kMs);
  add(timeline, 1, Op::kF, 0, 1 * kMs, 2 * kMs);
  add(timeline, 1, Op::kB, 0, 2 * kMs, 4 * kMs);
  add(timeline, 1, Op::kF, 1, 4 * kMs, 5 * kMs);
  add(timeline, 1, Op::kB, 1, 5 * kMs, 7 * kMs);
  return timeline;
}

}  // namespace

TEST_CASE("a timeline on a grid is drawn with one cell per step") {
  CHECK(text_timeline(small()) ==
        "d0 | F0 F1       B0 ==    B1 == |\n"
        "d1 |    F0 B0 == F1 B1 ==       |\n"
        "     0                      9 ms\n");
}

TEST_CASE("a timeline that does not fit is drawn by shares of columns") {
  Timeline timeline = small();
  timeline.spans[0].start = 1;  // off the grid
  CHECK(text_timeline(timeline, {.columns = 43}) ==
        "d0 | FFFFFFFF        BBBBBBBB    BBBBBBBB |\n"
        "d1 |     FFFFBBBBBBBBFFFFBBBBBBBB         |\n"
        "     0                               9 ms\n");
}

TEST_CASE("a device that holds two stages shows them") {
  Timeline timeline;
  timeline.devices.resize(1);
  timeline.makespan = 2 * kMs;
  add(timeline, 0, Op::kF, 0, 0, kMs);
  add(timeline, 0, Op::kF, 0, kMs, 2 * kMs);
  timeline.spans[1].action.stage = StageId{1};
  CHECK(text_timeline(timeline).substr(0, 15) == "d0 | 0F0 1F0 |\n");
}

TEST_CASE("of two actions at once the second has its name in the second cell") {
  Timeline timeline;
  timeline.devices.resize(1);
  timeline.makespan = 4 * kMs;
  add(timeline, 0, Op::kF, 5, 0, kMs);
  add(timeline, 0, Op::kF, 6, kMs, 4 * kMs);
  add(timeline, 0, Op::kB, 5, kMs, 4 * kMs);
  CHECK(text_timeline(timeline).substr(0, 19) == "d0 | F5 F6 B5 == |\n");
}

TEST_CASE("colours change only where the op does and are switched off at the end of a row") {
  const std::string text = text_timeline(small(), {.colour = true});
  CHECK(text.find("\033[30;46mF0 F1\033[0m") == std::string::npos);  // the gap between cells has no colour
  CHECK(text.find("\033[30;46mF0\033[0m \033[30;46mF1\033[0m") != std::string::npos);
  CHECK(text.find("==\033[0m |\n") != std::string::npos);
}

TEST_CASE("more devices than fit on a page are counted") {
  Timeline timeline = small();
  const std::string text = text_timeline(timeline, {.most_devices = 1});
  CHECK(text.find("... and 1 more devices\n") != std::string::npos);
  CHECK(text.find("d1 |") == std::string::npos);
}
