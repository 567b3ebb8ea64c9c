#include "sim/order_search/open_orders.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/sources/abstract_costs.hpp"
#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/phases/phase_rules.hpp"
#include "sim/order_search/pair_savings.hpp"
#include "sim/order_search/schedule_search.hpp"
#include "tests/support/catalogue_walk.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/written_schedule.hpp"

TEST_SUITE_BEGIN("sim");

namespace {

using namespace plumb;

constexpr Ticks kOpenMs = 1'000'000;

Schedule open_frame(const std::vector<std::string>& lists) { return testing::written_schedule(lists, 4); }

/// The best that a search from `schedule` finds with so many stashes per device; 0: no limit.
ScheduleSearchAnswer searched(const Schedule& schedule, const std::string& times, double limit) {
  ScheduleSearch search;
  search.params.num_devices = schedule.num_devices;
  search.params.num_microbatches = schedule.num_microbatches;
  search.memory_limit = [=](const Schedule&) { return limit; };
  search.run = [=](const Schedule& one) {
    OrderRun run{.costs = abstract_costs(times, "", {.num_stages = one.num_stages})};
    run.fits = [=](const Timeline& timeline) {
      return std::ranges::all_of(timeline.devices, [&](const DeviceSummary& device) {
        return limit == 0 || device.peak_activations <= limit + 1e-9;
      });
    };
    return run;
  };
  search.nodes = 5'000;
  search.simulations = 500;
  search.split = false;
  search.start = SearchStart{.name = "open", .schedule = schedule};
  return search_schedules(search);
}

std::string actions_of(const DeviceList& list, const std::vector<std::string>& which) {
  std::string text;
  for (const Action& action : list.actions) {
    const std::string one = to_string(action);
    if (std::ranges::find(which, one) != which.end()) text += (text.empty() ? "" : " ") + one;
  }
  return text;
}

}  // namespace

TEST_CASE("a schedule that has all passes is open nowhere, whichever of them are in halves") {
  std::set<std::string> mixed;
  std::int64_t compared = 0;
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    std::optional<Schedule> schedule = testing::smallest(spec, {.num_devices = 4, .num_microbatches = 12});
    if (!schedule) continue;
    CAPTURE(spec.name);
    for (DeviceList& list : schedule->devices) list = {.actions = expand(list), .repeats = {}};
    CHECK(!has_open_orders(*schedule));
    ++compared;
    if (has_halves(*schedule) && has_whole_backwards(*schedule)) mixed.emplace(spec.name);
    // Without the last pass of a device there is something to fill in.
    std::vector<Action>& last = schedule->devices.back().actions;
    while (!last.empty() && last.back().op > Op::kW) last.pop_back();
    if (last.empty() || schedule->slices) continue;
    last.pop_back();
    CHECK(has_open_orders(*schedule));
  }
  CHECK(compared > 60);
  CHECK(mixed.contains("stp"));
  CHECK(mixed.contains("dualpipe"));
  CHECK(mixed.contains("dualpipev"));
}

TEST_CASE("a search takes lists with backwards whole and in halves as they are") {
  const Schedule stp = generate("stp", {.num_devices = 4, .num_microbatches = 12});
  const ScheduleSearchAnswer answer = searched(stp, "F=1,I=1,W=1", 0);
  REQUIRE(!answer.orders.empty());
  CHECK(std::ranges::count(answer.orders, OrderOrigin::kGiven, &SearchedOrder::origin) == 1);
  CHECK(answer.families.empty());
}

TEST_CASE("what is wrong with a complete document is said") {
  const Schedule swapped = open_frame({"0F0 0F1 0F2 0F3 0B0 0B1 0B2 0B3", "1B0 1F0 1F1 1F2 1F3 1B1 1B2 1B3"});
  CHECK(testing::error_message([&] { searched(swapped, "F=1,B=2", 0); }) ==
        "open: device 1, position 0: 1B0: runs before 1F0");
}

TEST_CASE("empty lists are filled in with the optimum of 1F1B, and proved") {
  const ScheduleSearchAnswer answer = searched(open_frame({"", "", ""}), "F=1,B=2", 0);
  REQUIRE(!answer.orders.empty());
  CHECK(answer.orders.front().timeline.makespan == 18 * kOpenMs);  // (m + p - 1)(F + B)
  CHECK(answer.orders.front().bound == 18 * kOpenMs);
}

TEST_CASE("what is given keeps its order, and the bound is that of orders that keep it") {
  // The first device does all its forwards first: the last one then waits for nothing but for them.
  const Schedule gpipe = open_frame({"0F0 0F1 0F2 0F3 0B0 0B1 0B2 0B3", ""});
  const ScheduleSearchAnswer answer = searched(gpipe, "F=1,B=2", 0);
  REQUIRE(!answer.orders.empty());
  for (const SearchedOrder& order : answer.orders) {
    CHECK(actions_of(order.schedule.devices[0], {"0F0", "0F1", "0F2", "0F3", "0B0", "0B1", "0B2", "0B3"}) ==
          "0F0 0F1 0F2 0F3 0B0 0B1 0B2 0B3");
  }
  CHECK(answer.orders.front().timeline.makespan == 15 * kOpenMs);
  // 0B0 before 0F1 leaves one microbatch at a time: m p (F + B), although the other device is free.
  const Schedule serial = open_frame({"0B0 0F1 0B1 0F2 0B2 0F3", ""});
  const ScheduleSearchAnswer slow = searched(serial, "F=1,B=2", 0);
  REQUIRE(!slow.orders.empty());
  CHECK(slow.orders.front().timeline.makespan == 24 * kOpenMs);
  CHECK(slow.orders.front().bound == 24 * kOpenMs);
}

TEST_CASE("a given order that memory does not allow is filled in by nothing") {
  CHECK(searched(open_frame({"0F0 0F1 0F2", ""}), "F=1,B=2", 2).orders.empty() == false);
  CHECK(searched(open_frame({"0F2 0B0", ""}), "F=1,B=2", 2).orders.empty());
}

TEST_CASE("lists that cannot be a part of an order are refused with device and action") {
  const auto message = [](const std::vector<std::string>& lists) {
    return testing::error_message([&] { searched(open_frame(lists), "F=1,B=2", 0); });
  };
  CHECK(message({"1F0", ""}) == "written: device 0: 1F0 is no pass of this device here");
  CHECK(message({"0F1 0F0", ""}) ==
        "written: device 0: 0F0 comes behind microbatch 1, expected the microbatches of each pass in turn where orders "
        "are "
        "open");
}

TEST_CASE("where nothing can move, join or part, no order but the first is simulated") {
  const Schedule alone = generate("1f1b", {.num_devices = 1, .num_microbatches = 1});
  OrderRun run{.costs = abstract_costs("F=1,B=2,FB=2.5", "", {.num_stages = 1})};
  int simulated = 0;
  run.fits = [&](const Timeline&) { return ++simulated > 0; };
  CHECK(improve_order(alone, run, 300, 1).makespan == 3 * kOpenMs);
  CHECK(simulated == 1);
}

TEST_CASE("pairs are moved, joined and parted, and never get worse") {
  const std::string overlap = "let warmup = min(2*(p-1-d)+1, m)\nwarmup: F0\nm-warmup: (F0;B0)\nwarmup: B0\n";
  const Schedule start = schedule_from_rules(overlap, "a.rules", {.num_devices = 4, .num_microbatches = 8});
  OrderRun run{.costs = abstract_costs("F=1,B=2,FB=2.5", "", {.num_stages = 4})};
  CHECK(has_overlapped_pairs(start));
  const ImprovedOrder same = improve_order(start, run, 3'000, 1);
  CHECK(2 * same.makespan <= 59 * kOpenMs);  // p(F + B) + (m - 1) FB
  CHECK(score_order(same.schedule, run)->makespan == same.makespan);
  // With one pair parted the search joins it again, or does as well.
  Schedule parted = start;
  parted.devices[3] = {.actions = expand(parted.devices[3]), .repeats = {}};
  for (Action& action : parted.devices[3].actions) action.overlaps_next = 0;
  const Ticks before = score_order(parted, run)->makespan;
  CHECK(2 * before > 59 * kOpenMs);
  CHECK(improve_order(parted, run, 5'000, 1).makespan < before);
}

TEST_SUITE_END();
