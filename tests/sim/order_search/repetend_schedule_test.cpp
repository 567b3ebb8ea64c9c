#include "sim/order_search/repetend_schedule.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/sources/abstract_costs.hpp"
#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/checks/validate.hpp"
#include "sim/simulate.hpp"

TEST_SUITE_BEGIN("sim");

namespace {

using namespace plumb;

constexpr Ticks kSearchedUnit = 1'000'000;

/// A straight pipeline with F=1, B=2 (or I=1, W=1), a limit of stashes, and repetends of so many microbatches.
struct RepetendCase {
  std::int32_t devices = 4;
  double limit = 3;
  std::int32_t microbatches = 1;
  std::int64_t all = 60;
  bool split = false;
};

struct PlayedRepetend {
  FoundRepetend found;
  Schedule schedule;
  Timeline timeline;
};

PlayedRepetend play_repetend(const RepetendCase& c) {
  const StageCosts costs = abstract_costs("F=1,B=2", "", {.num_stages = c.devices});
  Schedule frame = looped_schedule("searched", {.num_devices = c.devices, .num_microbatches = c.all}, 1, 1);
  const BlockProblem problem = schedule_blocks(frame, {.stages = costs, .memory_limit = c.limit, .split = c.split});
  FoundRepetend found = search_repetend(problem, c.microbatches, 100'000);
  Schedule schedule = repetend_schedule(std::move(frame), problem, found.repetend);
  Timeline timeline = simulate_summary(schedule, costs);
  return {std::move(found), std::move(schedule), std::move(timeline)};
}

double most_stashes_kept(const Timeline& timeline) {
  double most = 0;
  for (const DeviceSummary& device : timeline.devices) most = std::max(most, device.peak_activations);
  return most;
}

}  // namespace

TEST_CASE("two microbatches per period beat one where memory is tight, in the simulator, too") {
  const PlayedRepetend four = play_repetend({.devices = 4, .limit = 3, .microbatches = 2});
  CHECK(four.found.repetend.period == 9 * kSearchedUnit);
  CHECK(four.found.proved());
  CHECK(four.timeline.makespan <= 276 * kSearchedUnit);
  CHECK(most_stashes_kept(four.timeline) == 3);
  const PlayedRepetend three = play_repetend({.devices = 3, .limit = 2, .microbatches = 2});
  CHECK(three.found.repetend.period == 9 * kSearchedUnit);
  CHECK(three.found.proved());
  CHECK(three.timeline.makespan <= 273 * kSearchedUnit);
  CHECK(most_stashes_kept(three.timeline) == 2);
  CHECK(play_repetend({.devices = 4, .limit = 3, .microbatches = 1}).found.repetend.period == 6 * kSearchedUnit);
  for (const std::string limit : {"2", "3"}) {  // what the catalogue has for it
    const std::int32_t devices = limit == "2" ? 3 : 4;
    const Schedule schedule =
        generate("1f1b", {.num_devices = devices, .num_microbatches = 60, .options = {{"limit", limit}}});
    CHECK(simulate_summary(schedule, abstract_costs("F=1,B=2", "", {.num_stages = devices})).makespan ==
          360 * kSearchedUnit);
  }
}

TEST_CASE("three microbatches per period reach what memory allows at all") {
  // At most 3 microbatches are in flight, each for at least 4 (F + B) = 12: never more than 3 in 12.
  const PlayedRepetend played = play_repetend({.devices = 4, .limit = 3, .microbatches = 3});
  CHECK(played.found.repetend.period == 12 * kSearchedUnit);
  CHECK(played.timeline.makespan <= 246 * kSearchedUnit);
  CHECK(most_stashes_kept(played.timeline) == 3);
}

TEST_CASE("a repeated repetend is a valid schedule of any size, within its period and its limit") {
  for (const bool split : {false, true}) {
    for (const std::int32_t devices : {2, 3, 4}) {
      for (double limit = 1; limit <= devices; ++limit) {
        for (std::int32_t each = 1; each <= 3; ++each) {
          for (const std::int64_t all : {1, 2, 5, 12, 13}) {
            CAPTURE(split);
            CAPTURE(devices);
            CAPTURE(limit);
            CAPTURE(each);
            CAPTURE(all);
            const PlayedRepetend played = play_repetend({devices, limit, each, all, split});
            REQUIRE(validate(played.schedule).empty());
            CHECK(most_stashes_kept(played.timeline) <= limit);
            const Repetend& repetend = played.found.repetend;
            Ticks end = 0;
            for (const Ticks start : repetend.starts) end = std::max(end, start + 2 * kSearchedUnit);
            const std::int64_t periods = (all + each - 1) / each;
            CHECK(played.timeline.makespan <= (periods - 1) * repetend.period + end);
          }
        }
      }
    }
  }
}

TEST_CASE("a document of a repetend does not grow with its microbatches") {
  const auto size = [](const Schedule& schedule) {
    std::size_t actions = 0;
    for (const DeviceList& list : schedule.devices) actions += list.actions.size();
    return actions;
  };
  const PlayedRepetend small = play_repetend({.devices = 4, .limit = 3, .microbatches = 3, .all = 60});
  const PlayedRepetend large = play_repetend({.devices = 4, .limit = 3, .microbatches = 3, .all = 6'000'000});
  CHECK(size(small.schedule) == size(large.schedule));
  CHECK(large.timeline.makespan - small.timeline.makespan == (6'000'000 - 60) / 3 * large.found.repetend.period);
}

TEST_SUITE_END();
