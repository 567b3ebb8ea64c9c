#include "sim/order_search/paired_orders.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "models/sources/abstract_costs.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/checks/validate.hpp"
#include "sim/order_search/pair_savings.hpp"
#include "sim/order_search/schedule_search.hpp"
#include "sim/simulate.hpp"
#include "tests/support/every_paired_order.hpp"
#include "tests/support/random_pairs.hpp"
#include "tests/support/small_search.hpp"
#include "tests/support/unrolled.hpp"
#include "tests/support/written_schedule.hpp"

TEST_SUITE_BEGIN("sim");

namespace {

using namespace plumb;

constexpr Ticks kPairedMs = 1'000'000;

ScheduleSearch straight_and_whole(std::int32_t devices, std::int64_t microbatches, double limit,
                                  const std::string& times) {
  ScheduleSearch search = testing::small_search(devices, microbatches, limit, times);
  search.looped = search.in_v = search.split = false;
  search.simulations = 4'000;
  return search;
}

/// Of those that have a bound: without passes that are computed again, which takes no time by these costs.
const SearchedOrder& best_of(const ScheduleSearchAnswer& answer) {
  const auto found = std::ranges::find_if(answer.orders, [](const SearchedOrder& order) { return order.bound > 0; });
  REQUIRE(found != answer.orders.end());
  return *found;
}

Ticks shortest_of(const ScheduleSearchAnswer& answer) { return best_of(answer).timeline.makespan; }

}  // namespace

TEST_CASE("where pairs save time a search finds as short an order as there is, and proves nothing that is longer") {
  int proved = 0;
  for (const std::string times :
       {"F=1,B=2,FB=2.5", "F=2,B=3,F.comm=1,I.comm=1", "F=1,B=2,FB=2,FF=1.5,BB=3", "F=1,B=2,FB=2.5,comm=0.5"}) {
    const StageCosts costs = abstract_costs(times, "", {.num_stages = 2});
    for (const double limit : {0.0, 1.0, 2.0}) {
      for (const std::int32_t m : {2, 3}) {
        CAPTURE(times);
        CAPTURE(limit);
        CAPTURE(m);
        const testing::BestPaired best = testing::shortest_with_pairs(m, costs, limit);
        const ScheduleSearchAnswer answer = search_schedules(straight_and_whole(2, m, limit, times));
        REQUIRE(!answer.orders.empty());
        CHECK(shortest_of(answer) == best.makespan);
        for (const SearchedOrder& order : answer.orders) {
          CAPTURE(order.name);
          CHECK(validate(order.schedule).empty());
          CHECK(order.bound <= best.makespan);
        }
        for (const SearchedFamily& family : answer.families) {
          CHECK(family.with_pairs);
          CHECK(!family.tree_ended);
          CHECK(family.bound <= best.makespan);
          CHECK(family.rate.per_microbatch() * static_cast<double>(m) <= static_cast<double>(best.makespan));
        }
        proved += best_of(answer).bound == best.makespan ? 1 : 0;
      }
    }
  }
  CHECK(proved >= 4);
}

TEST_CASE("where pairs of halves save time a search finds as short an order as there is, too") {
  for (const std::string times : {"F=1,I=1,W=1,FW=1.5,FI=1.6", "F=2,I=2,W=1,F.comm=1,I.comm=1",
                                  "F=1,I=1,W=1,FI=1.5,comm=0.5", "F=1,I=2,W=2,FW=2,IW=3"}) {
    const StageCosts costs = abstract_costs(times, "", {.num_stages = 2});
    for (const double limit : {0.0, 1.0, 2.0}) {
      CAPTURE(times);
      CAPTURE(limit);
      const testing::BestPaired best = testing::shortest_with_pairs(2, costs, limit, true);
      ScheduleSearch search = straight_and_whole(2, 2, limit, times);
      search.whole = false;
      search.split = true;
      const ScheduleSearchAnswer answer = search_schedules(search);
      CHECK(shortest_of(answer) == best.makespan);
      for (const SearchedOrder& order : answer.orders) CHECK(order.bound <= best.makespan);
    }
  }
}

TEST_CASE("in little memory a search takes as many forwards before its pairs as fit") {
  // 1F1B takes 33 ms, its overlapped pairs 29.5 with eight stashes on the first device.
  const ScheduleSearchAnswer answer = search_schedules(straight_and_whole(4, 8, 7, "F=1,B=2,FB=2.5"));
  CHECK(shortest_of(answer) <= 30 * kPairedMs);
  CHECK(best_of(answer).bound == 29 * kPairedMs);
  CHECK(has_overlapped_pairs(best_of(answer).schedule));
  for (const SearchedOrder& order : answer.orders) CHECK(order.bound <= shortest_of(answer));
  // Without what pairs save, the same search proves 1F1B.
  const ScheduleSearchAnswer plain = search_schedules(straight_and_whole(4, 8, 7, "F=1,B=2,FB=3"));
  CHECK(shortest_of(plain) == 33 * kPairedMs);
  CHECK(best_of(plain).bound == 33 * kPairedMs);
}

TEST_CASE("a search from a schedule without pairs finds some, and its bound is theirs") {
  ScheduleSearch search = straight_and_whole(4, 8, 0, "F=1,B=2,FB=2.5");
  search.start = SearchStart{.name = "1f1b", .schedule = generate("1f1b", {.num_devices = 4, .num_microbatches = 8})};
  const ScheduleSearchAnswer answer = search_schedules(search);
  CHECK(shortest_of(answer) < 33 * kPairedMs);
  for (const SearchedOrder& order : answer.orders) CHECK(order.bound == 29 * kPairedMs);
}

TEST_CASE("what is given of an order is kept where pairs save time") {
  ScheduleSearch search = straight_and_whole(2, 4, 0, "F=1,B=2,FB=2.5");
  const std::string given = "0F0 0B0 0F1 0B1 0F2 0B2 0F3 0B3";
  search.start = SearchStart{.name = "open", .schedule = testing::written_schedule({given, ""}, 4)};
  const ScheduleSearchAnswer answer = search_schedules(search);
  REQUIRE(!answer.orders.empty());
  for (const SearchedOrder& order : answer.orders) {
    CAPTURE(order.name);
    CHECK(testing::list_text(order.schedule, 0) == given + " 0U0");
    CHECK(order.bound <= answer.orders.front().timeline.makespan);
  }
}

TEST_CASE("backwards whole and in halves have a bound where neither is shorter and pairs save nothing") {
  for (const auto& [times, known] : {std::pair("F=1,I=1,W=1", true), std::pair("F=1,I=1,W=1,FB=2.5", false)}) {
    ScheduleSearch search = testing::small_search(4, 12, 0, times);
    search.start = SearchStart{.name = "stp", .schedule = generate("stp", {.num_devices = 4, .num_microbatches = 12})};
    const ScheduleSearchAnswer answer = search_schedules(search);
    REQUIRE(!answer.orders.empty());
    for (const SearchedOrder& order : answer.orders) {
      CHECK((order.bound > 0) == known);
      CHECK(order.bound <= answer.orders.front().timeline.makespan);
    }
  }
}

TEST_CASE("neighbours of different microbatches become pairs from the front, where that saves time") {
  const auto paired = [](const char* name, const char* times) {
    return with_paired_neighbours(generate(name, {.num_devices = 2, .num_microbatches = 3}),
                                  abstract_costs(times, "", {.num_stages = 2}));
  };
  const std::optional<Schedule> forwards = paired("gpipe", "F=1,B=2,FF=1.5,FB=2.5");
  REQUIRE(forwards.has_value());
  CHECK(validate(*forwards).empty());
  CHECK(testing::kinds_of_pairs(*forwards) == std::set<std::string>{"FF"});
  const std::optional<Schedule> both = paired("1f1b", "F=1,B=2,FB=2.5");
  REQUIRE(both.has_value());
  CHECK(check_document(*both).empty());
  CHECK(testing::kinds_of_pairs(*both) == std::set<std::string>{"BF", "FB"});
  CHECK(!paired("1f1b", "F=1,B=2,FB=3"));
  CHECK(!paired("1f1b", "F=1,B=2"));
}

TEST_CASE("1F1B with twice its forwards before pairs is 1F1B with overlapped pairs") {
  const Schedule overlapped = generate("1f1b-overlap", {.num_devices = 4, .num_microbatches = 8});
  const Schedule made = with_pairs_behind(generate("1f1b", {.num_devices = 4, .num_microbatches = 8}), {.twice = true});
  for (std::size_t d = 0; d < 4; ++d) CHECK(made.devices[d].actions == expand(overlapped.devices[d]));
}

TEST_CASE("fewer forwards before the pairs keep less, and forwards and backwards keep their turns") {
  const Schedule all = generate("1f1b-overlap", {.num_devices = 4, .num_microbatches = 8});
  CHECK(most_before_backwards(all) == 7);
  CHECK(most_before_backwards(generate("1f1b", {.num_devices = 4, .num_microbatches = 8})) == 4);
  CHECK(most_before_backwards(generate("zb-h1", {.num_devices = 4, .num_microbatches = 8})) == 0);
  const StageCosts costs = abstract_costs("F=1,B=2,FB=2.5", "", {.num_stages = 4});
  for (const bool plain : {false, true}) {
    const Schedule seven = with_pairs_behind(all, {.most = 7, .plain = plain});
    CHECK(validate(seven).empty());
    CHECK(simulate_summary(seven, costs).devices.front().peak_activations == 7);
    CHECK(most_before_backwards(seven) == (plain ? 7 : 6));
  }
  CHECK(with_pairs_behind(all, {.most = 8}).devices.front().actions == expand(all.devices.front()));
}

TEST_CASE("pairs behind a schedule's own forwards are tried, then behind twice as many") {
  const StageCosts costs = abstract_costs("F=1,B=2,FB=2.5", "", {.num_stages = 4});
  std::vector<std::string> tried;
  try_in_pairs(generate("1f1b", {.num_devices = 4, .num_microbatches = 8}), "1f1b", costs,
               [&](const std::string& name, const Schedule&) {
                 tried.push_back(name);
                 return true;
               });
  CHECK(tried == std::vector<std::string>{"pairs in 1f1b", "1f1b in pairs", "1f1b in pairs, twice the warm-up"});
}

TEST_CASE("where whole pairs do not fit, the most forwards that do are found, up to all of them without pairs") {
  const Schedule overlapped = generate("1f1b-overlap", {.num_devices = 4, .num_microbatches = 8});
  const StageCosts costs = abstract_costs("F=1,B=2,FB=2.5", "", {.num_stages = 4});
  const std::string own = "none where more than ";
  for (std::int64_t room = 1; room <= most_before_backwards(overlapped); ++room) {
    CAPTURE(room);
    std::int64_t most = 0;
    try_in_pairs(overlapped, "it", costs, [&](const std::string& name, const Schedule& schedule) {
      const std::size_t at = name.find(own);
      if (at == std::string::npos) return false;
      const std::int64_t kept = std::stoll(name.substr(at + own.size()));
      CHECK(simulate_summary(schedule, costs).devices.front().peak_activations == static_cast<double>(kept));
      if (kept <= room) most = std::max(most, kept);
      return kept <= room;
    });
    CHECK(most == room);
  }
}

TEST_SUITE_END();
