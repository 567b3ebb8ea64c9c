#include "sim/order_search/schedule_search.hpp"

#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "models/sources/abstract_costs.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/checks/validate.hpp"
#include "sim/order_search/schedule_blocks.hpp"
#include "sim/simulate.hpp"

TEST_SUITE_BEGIN("sim");

namespace {

using namespace plumb;

constexpr Ticks kSearchedMs = 1'000'000;

/// A search with costs per device, whose memory is counted in stashes of 1/p of the model.
ScheduleSearch small_search(std::int32_t devices, std::int64_t microbatches, double limit, const std::string& times) {
  const auto costs = [devices, times](std::int32_t stages) {
    return abstract_costs(times, "", {.num_stages = stages, .stages_together = std::max(1, stages / devices)});
  };
  ScheduleSearch search;
  search.params.num_devices = devices;
  search.params.num_microbatches = microbatches;
  search.params.costs = costs;
  search.params.memory_limit = limit;
  search.memory_limit = [=](const Schedule& schedule) { return limit * schedule.num_stages / devices; };
  search.run = [=](const Schedule& schedule) {
    OrderRun run{.costs = costs(schedule.num_stages)};
    const double share = static_cast<double>(devices) / schedule.num_stages;
    run.fits = [=](const Timeline& timeline) {
      return std::ranges::all_of(timeline.devices, [&](const DeviceSummary& device) {
        return limit == 0 || device.peak_activations * share <= limit + 1e-9;
      });
    };
    return run;
  };
  search.nodes = 2'000;
  search.simulations = 300;
  return search;
}

}  // namespace

TEST_CASE("a search is never worse than the catalogue, and no order is below its bound") {
  for (const double limit : {0.0, 2.0, 3.0}) {
    for (const std::string times : {"F=1,I=1,W=1", "F=2,I=3,W=1,comm=1"}) {
      CAPTURE(limit);
      CAPTURE(times);
      const ScheduleSearchAnswer answer = search_schedules(small_search(4, 6, limit, times));
      REQUIRE(!answer.orders.empty());
      CHECK(std::ranges::is_sorted(answer.orders, {}, [](const SearchedOrder& o) { return o.timeline.makespan; }));
      CHECK(answer.families.size() == 4);
      for (const SearchedOrder& order : answer.orders) {
        CAPTURE(order.name);
        CHECK(validate(order.schedule).empty());
        CHECK(order.timeline.makespan >= order.bound);
      }
    }
  }
}

TEST_CASE("where no pass takes time, the families say so and the catalogue is tried") {
  for (const std::string times : {"F=0,B=0", "F=0,B=0,U=1"}) {
    const ScheduleSearchAnswer answer = search_schedules(small_search(2, 4, 0, times));
    CHECK(!answer.orders.empty());
    for (const SearchedFamily& family : answer.families)
      CHECK(family.refused.find("no block takes time") != std::string::npos);
  }
}

TEST_CASE("a search proves the best order of a small pipeline in little memory, shorter than the catalogue's") {
  ScheduleSearch search = small_search(4, 12, 3, "F=1,I=1,W=1");
  search.in_v = false;
  search.nodes = 20'000;
  const ScheduleSearchAnswer answer = search_schedules(search);
  CHECK(answer.orders.front().timeline.makespan == 44 * kSearchedMs);
  CHECK(answer.orders.front().bound == 44 * kSearchedMs);
  REQUIRE(answer.best_of_catalogue() != nullptr);
  CHECK(answer.best_of_catalogue()->name == "zb-auto");
  CHECK(answer.best_of_catalogue()->timeline.makespan == 45 * kSearchedMs);
}

TEST_CASE("a search for whole backwards in one stage per device finds nothing else") {
  ScheduleSearch search = small_search(4, 60, 3, "F=1,B=2");
  search.in_v = search.split = false;
  search.simulations = 0;
  const ScheduleSearchAnswer answer = search_schedules(search);
  for (const SearchedOrder& order : answer.orders) {
    CHECK(order.schedule.num_stages == 4);
    for (const DeviceList& list : order.schedule.devices) {
      CHECK(std::ranges::none_of(list.actions, [](const Action& action) { return action.op == Op::kW; }));
    }
  }
  // Message-driven order has the rate that memory allows, too; 1F1B with the same limit needs 360.
  CHECK(answer.orders.front().timeline.makespan == 246 * kSearchedMs);
  CHECK(answer.orders.front().bound == 246 * kSearchedMs);
}

TEST_CASE("steps are the same every time, stay in the memory, and never make an order longer") {
  const StageCosts costs = abstract_costs("F=1,I=1,W=1", "", {.num_stages = 4});
  const Schedule start = generate("zb-auto", {.num_devices = 4, .num_microbatches = 12, .memory_limit = 3});
  const Ticks before = simulate_summary(start, costs).makespan;
  OrderRun run{.costs = costs};
  run.fits = [](const Timeline& timeline) {
    return std::ranges::all_of(timeline.devices, [](const DeviceSummary& d) { return d.peak_activations <= 3; });
  };
  const ImprovedOrder one = improve_order(start, run, 3'000, 1);
  const ImprovedOrder other = improve_order(start, run, 3'000, 1);
  CHECK(one.schedule == other.schedule);
  CHECK(one.makespan < before);
  CHECK(validate(one.schedule).empty());
  const Timeline timeline = simulate_summary(one.schedule, costs);
  CHECK(timeline.makespan == one.makespan);
  CHECK(run.fits(timeline));
  CHECK(one.simulations == 3'000);
}

TEST_CASE("a schedule that recomputes has no bound of one that does not") {
  const Schedule varuna = generate("varuna", {.num_devices = 3, .num_microbatches = 6});
  CHECK(why_no_blocks(varuna) == "its lists hold more than passes and updates");
  CHECK(why_no_blocks(generate("zb-h1", {.num_devices = 3, .num_microbatches = 6})).empty());
  CHECK(why_no_blocks(generate("gems", {.num_devices = 4, .num_microbatches = 6})) ==
        "it has several copies of the model");
}

TEST_CASE("lists with more than passes and updates are not changed in steps") {
  CHECK(why_no_steps(generate("zb-h1", {.num_devices = 4, .num_microbatches = 8})).empty());
  CHECK(why_no_steps(generate("stp", {.num_devices = 4, .num_microbatches = 12})).empty());
  CHECK(why_no_steps(generate("bpipe", {.num_devices = 4, .num_microbatches = 8})) ==
        "its lists hold more than passes and updates");
}

TEST_SUITE_END();
