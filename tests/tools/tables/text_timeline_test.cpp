#include "tools/tables/text_timeline.hpp"

#include <string>

#include <doctest/doctest.h>

#include "models/sources/abstract_costs.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/lowering/lower.hpp"
#include "sim/simulate.hpp"
#include "tests/support/catalogue_walk.hpp"

TEST_SUITE_BEGIN("tools");

namespace {

using namespace plumb;
using plumb::testing::generated;

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

TEST_CASE("times without a common grid keep names and borders, in proportion") {
  const Schedule schedule = generate("1f1b", {.num_devices = 2, .num_microbatches = 2});
  const Timeline timeline = simulate(lower(schedule, abstract_costs("F=1.1,B=2.3", "", {.num_stages = 2})), {});
  CHECK(text_timeline(timeline, {.columns = 80}) ==
        "d0 | F0 F1       B0====    B1=== |\n"
        "d1 |    F0 B0=== F1 B1====       |\n"
        "     0                    10.2 ms\n");
}

TEST_CASE("a drawing that does not fit goes on below, and is read back; one of too many rows is cut, and says so") {
  Timeline timeline = small();
  const std::string text = text_timeline(timeline, {.columns = 25});
  CHECK(text.find("\n\nd0 | ") != std::string::npos);
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) CHECK(text.find('\n', at) - at <= 25);
  const auto devices = schedule_from_text(text, "x.txt").devices;
  REQUIRE(devices.size() == 2);
  for (const DeviceList& list : devices) CHECK(list.actions.size() == 4);
  timeline.devices.resize(20);
  CHECK(text_timeline(timeline, {.columns = 25}).find(" of 9 ms; all of it takes ") != std::string::npos);
}

TEST_CASE("an action that is much shorter than others still has its name") {
  Timeline timeline;
  timeline.devices.resize(1);
  timeline.makespan = 20 * kMs + 1;
  add(timeline, 0, Op::kF, 0, 0, 10 * kMs);
  add(timeline, 0, Op::kW, 0, 10 * kMs, 10 * kMs + 1);
  add(timeline, 0, Op::kB, 1, 10 * kMs + 1, 20 * kMs + 1);
  CHECK(text_timeline(timeline).starts_with("d0 | F0 W0 B1 |\n"));
}

TEST_CASE("what is drawn is read back as the same passes in the same order") {
  int drawn = 0;
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    CAPTURE(spec.name);
    for (const char* times : {"F=1,B=2", "F=1.1,I=1.3,W=0.7"}) {
      const auto schedule = generated(spec, {.num_devices = 4, .num_microbatches = 8});
      if (!schedule || schedule->policy) continue;
      const StageCosts costs = abstract_costs(times, "", {.num_stages = schedule->num_stages});
      const Timeline timeline = simulate(lower(*schedule, costs), {});
      const std::string text = text_timeline(timeline, {.columns = 100'000});
      CAPTURE(text);
      std::string read;
      for (const DeviceList& list : schedule_from_text(text, "x.txt").devices) {
        for (const Action& action : list.actions) read += to_string(action) + ' ';
      }
      std::string ran;
      for (std::size_t device = 0; device < timeline.devices.size(); ++device) {
        for (const Span& span : timeline.spans) {
          const bool shown = span.lane == Lane::kCompute && index(span.device) == device && span.end > span.start;
          if (shown) ran += to_string(span.action) + ' ';
        }
      }
      CHECK(read == ran);
      ++drawn;
    }
  }
  CHECK(drawn > 100);
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

TEST_CASE("two actions at once are joined") {
  Timeline timeline;
  timeline.devices.resize(1);
  timeline.makespan = 4 * kMs;
  add(timeline, 0, Op::kF, 5, 0, kMs);
  add(timeline, 0, Op::kF, 6, kMs, 4 * kMs);
  add(timeline, 0, Op::kB, 5, kMs, 4 * kMs);
  CHECK(text_timeline(timeline).starts_with("d0 | F5 F6&B5 == |\n"));
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
