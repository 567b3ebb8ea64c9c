#include "sim/order_search/schedule_search.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/sources/abstract_costs.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/checks/validate.hpp"
#include "sim/order_search/schedule_blocks.hpp"
#include "sim/simulate.hpp"

TEST_SUITE_BEGIN("sim");

namespace {

using namespace plumb;

constexpr Ticks kReroutedMs = 1'000'000;

/// What a search finds for pipelines of which `holders` are left of each stage: microbatches go to them in turn. Passes
/// take 1 each.
ScheduleSearchAnswer searched(const std::vector<int>& holders, std::int64_t microbatches, std::int64_t nodes,
                              std::int64_t simulations) {
  std::string replicas;
  for (const int each : holders) replicas += (replicas.empty() ? "" : "-") + std::to_string(each);
  ScheduleSearch search;
  search.params = {.num_devices = std::accumulate(holders.begin(), holders.end(), std::int32_t{0}),
                   .num_microbatches = microbatches};
  search.params.options["replicas"] = replicas;
  search.memory_limit = [](const Schedule&) { return 0.0; };
  search.run = [](const Schedule& schedule) {
    return OrderRun{.costs = abstract_costs("F=1,I=1,W=1,B=2", "", {.num_stages = schedule.num_stages})};
  };
  search.nodes = nodes;
  search.simulations = simulations;
  search.start = SearchStart{.name = "dapple", .schedule = generate("dapple", search.params)};
  return search_schedules(search);
}

/// Of three pipelines of four stages and 18 microbatches, without a holder of stage `lost`.
ScheduleSearchAnswer rerouted(std::size_t lost, std::int64_t simulations) {
  std::vector<int> holders{3, 3, 3, 3};
  holders[lost] = 2;
  return searched(holders, 18, lost == 0 ? 20'000 : 300, simulations);
}

}  // namespace

// Three pipelines of four stages, six microbatches each, one node lost: the loss is free as long as
// m f / (D - f) <= p - 1, here 3 <= 3, and a step takes what one of 1F1B does, (m + p - 1)(F + B) = 27. That counts
// no chain before the turns of the two holders, which orders of later stages have.
TEST_CASE("ReCycle's re-routing as searched orders: with backwards in halves a lost node costs 0 to 3 of 27") {
  const Ticks whole_step = simulate_summary(generate("1f1b", {.num_devices = 4, .num_microbatches = 6}),
                                            abstract_costs("F=1,B=2", "", {.num_stages = 4}), nullptr, {}, {})
                               .makespan;
  CHECK(whole_step == 27 * kReroutedMs);
  constexpr std::array<Ticks, 4> kShortest{27, 28, 29, 30};
  for (std::size_t lost = 0; lost < kShortest.size(); ++lost) {
    CAPTURE(lost);
    const ScheduleSearchAnswer answer = rerouted(lost, 400);
    REQUIRE(!answer.orders.empty());
    for (const SearchedOrder& order : answer.orders) {
      CAPTURE(order.name);
      CHECK(validate(order.schedule).empty());
      CHECK(order.bound >= whole_step);
      CHECK(order.timeline.makespan >= order.bound);
    }
    const SearchedOrder& best = answer.orders.front();
    CHECK(best.timeline.makespan == kShortest[lost] * kReroutedMs);
    CHECK(best.timeline.makespan == best.bound);
    const auto given = std::ranges::find(answer.orders, OrderOrigin::kGiven, &SearchedOrder::origin);
    REQUIRE(given != answer.orders.end());
    CHECK(given->timeline.makespan > best.timeline.makespan);
  }
}

TEST_CASE("without holders a step takes what the rule recycle says: the turns of the fullest stage and the way to it") {
  struct Left {
    std::vector<int> holders;
    std::int64_t microbatches;
  };
  for (const Left& left :
       {Left{{2, 2, 3, 3}, 18}, Left{{2, 3, 3, 2}, 18}, Left{{2, 2, 2, 2}, 18}, Left{{2, 3, 3, 3}, 36},
        Left{{3, 3, 3, 2}, 36}, Left{{3, 3, 1, 2}, 18}, Left{{1, 2, 2}, 8}, Left{{2, 1}, 16}}) {
    CAPTURE(left.holders);
    CAPTURE(left.microbatches);
    std::int64_t longest = 0;
    for (std::size_t stage = 0; stage < left.holders.size(); ++stage) {
      const std::int64_t turns = left.microbatches / left.holders[stage];
      longest = std::max(longest, 3 * turns + static_cast<std::int64_t>(stage));
    }
    const ScheduleSearchAnswer answer = searched(left.holders, left.microbatches, 2000, 400);
    REQUIRE(!answer.orders.empty());
    const SearchedOrder& best = answer.orders.front();
    CHECK(best.timeline.makespan == longest * kReroutedMs);
    CHECK(best.timeline.makespan == best.bound);
  }
}

TEST_CASE("orders of shared stages are written with the microbatches of every holder, sums of gradients and updates") {
  const ScheduleSearchAnswer answer = rerouted(1, 0);
  REQUIRE(answer.orders.size() > 1);
  for (const SearchedOrder& order : answer.orders) {
    CHECK(order.schedule.num_microbatches == 18);
    for (const DeviceList& list : order.schedule.devices) {
      const std::vector<Action> actions = expand(list);
      const auto forwards = std::ranges::count(actions, Op::kF, &Action::op);
      const bool one_of_two = index(actions.front().stage) == 1;
      CHECK(forwards == (one_of_two ? 9 : 6));
      REQUIRE(actions.size() > 2);
      CHECK(actions[actions.size() - 2].op == Op::kReduceGrad);
      CHECK(actions.back().op == Op::kU);
    }
  }
  Schedule seventeen = generate("dapple", {.num_devices = 5, .num_microbatches = 17, .options = {{"replicas", "3-2"}}});
  CHECK(why_no_blocks(seventeen) ==
        "the turns of its stages come again after 6 microbatches, which do not divide its number of them");
}

TEST_SUITE_END();
