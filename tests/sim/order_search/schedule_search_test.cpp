#include "sim/order_search/schedule_search.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "models/sources/abstract_costs.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/checks/validate.hpp"
#include "sim/order_search/catalogue_candidates.hpp"
#include "sim/order_search/schedule_blocks.hpp"
#include "sim/simulate.hpp"
#include "tests/support/small_search.hpp"

TEST_SUITE_BEGIN("sim");

namespace {

using namespace plumb;
using testing::small_search;

constexpr Ticks kSearchedMs = 1'000'000;

struct TriedSize {
  std::int32_t devices;
  std::int64_t microbatches;
  double limit;  ///< stashes of 1/p of the model; 0: none
  std::string times;
};

/// Without steps and with hardly any trees: what the catalogue gives.
ScheduleSearch catalogue_only(const TriedSize& size) {
  ScheduleSearch search = small_search(size.devices, size.microbatches, size.limit, size.times);
  search.nodes = 50;
  search.most_repeated = 1;
  search.simulations = 0;
  return search;
}

/// The makespan of a schedule by name; nothing where it does not exist or does not fit.
std::optional<Ticks> run_by_name(const TriedSize& size, const std::string& name, std::int32_t chunks,
                                 const std::map<std::string, std::string>& options) {
  const ScheduleSearch search = catalogue_only(size);
  try {
    const Schedule schedule = generate(
        name,
        {.num_devices = size.devices, .num_microbatches = size.microbatches, .chunks = chunks, .options = options});
    const OrderRun run = search.run(schedule);
    const Timeline timeline = simulate_summary(schedule, run.costs);
    if (!run.fits(timeline)) return std::nullopt;
    return timeline.makespan;
  } catch (const Error&) {
    return std::nullopt;
  }
}

Ticks best_found(const ScheduleSearchAnswer& answer) { return answer.orders.front().timeline.makespan; }

}  // namespace

TEST_CASE("a search is never worse than the catalogue, and no order is below its bound") {
  for (const double limit : {0.0, 2.0, 3.0}) {
    for (const std::string times : {"F=1,I=1,W=1", "F=2,I=3,W=1,comm=1"}) {
      CAPTURE(limit);
      CAPTURE(times);
      const ScheduleSearchAnswer answer = search_schedules(small_search(4, 6, limit, times));
      REQUIRE(!answer.orders.empty());
      CHECK(std::ranges::is_sorted(answer.orders, {}, &SearchedOrder::makespan_ns));
      CHECK(answer.families.size() == 6);
      for (const SearchedOrder& order : answer.orders) {
        CAPTURE(order.name);
        CHECK(validate(order.schedule).empty());
        CHECK(order.timeline.makespan >= order.bound);
      }
    }
  }
}

TEST_CASE("with all times three times as long a search does the same, and finds the same orders three times as long") {
  for (const double limit : {0.0, 3.0}) {
    for (const auto& [one, three] :
         {std::pair("F=1,I=1,W=1", "F=3,I=3,W=3"), std::pair("F=2,I=3,W=1,comm=1", "F=6,I=9,W=3,comm=3"),
          std::pair("F=1,B=2,FB=2.5", "F=3,B=6,FB=7.5")}) {
      CAPTURE(limit);
      CAPTURE(one);
      ScheduleSearch search = small_search(3, 6, limit, one);
      search.simulations = 120;
      search.nodes = 500;
      ScheduleSearch longer = small_search(3, 6, limit, three);
      longer.simulations = search.simulations;
      longer.nodes = search.nodes;
      const ScheduleSearchAnswer found = search_schedules(search);
      const ScheduleSearchAnswer same = search_schedules(longer);
      CHECK(same.nodes == found.nodes);
      CHECK(same.simulations == found.simulations);
      CHECK(same.catalogue_fits == found.catalogue_fits);
      REQUIRE(same.orders.size() == found.orders.size());
      for (std::size_t at = 0; at < found.orders.size(); ++at) {
        CAPTURE(found.orders[at].name);
        CHECK(same.orders[at].name == found.orders[at].name);
        CHECK(same.orders[at].schedule.devices == found.orders[at].schedule.devices);
        CHECK(same.orders[at].makespan_ns() == doctest::Approx(3 * found.orders[at].makespan_ns()));
        CHECK((same.orders[at].timeline.makespan == same.orders[at].bound) ==
              (found.orders[at].timeline.makespan == found.orders[at].bound));
        if (at > 0) CHECK(found.orders[at - 1].makespan_ns() <= found.orders[at].makespan_ns());
      }
      REQUIRE(same.families.size() == found.families.size());
      for (std::size_t at = 0; at < found.families.size(); ++at) {
        const SearchedFamily& family = found.families[at];
        CAPTURE(family.name);
        CHECK(same.families[at].bound == 3 * family.bound);
        CHECK(same.families[at].tree_ended == family.tree_ended);
        CHECK(same.families[at].rate.per_microbatch() == doctest::Approx(3 * family.rate.per_microbatch()));
        REQUIRE(same.families[at].periods.size() == family.periods.size());
        for (std::size_t period = 0; period < family.periods.size(); ++period) {
          CHECK(same.families[at].periods[period].period == 3 * family.periods[period].period);
          CHECK(same.families[at].periods[period].bound == 3 * family.periods[period].bound);
        }
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
  search.in_v = search.looped = false;
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
  search.in_v = search.looped = search.split = false;
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

TEST_CASE("no schedule that fits is shorter than what a search finds, whatever its chunks and options") {
  for (const TriedSize& size : {TriedSize{8, 16, 9, "F=1,I=1.8,W=0.2"}, TriedSize{8, 16, 6, "F=2,I=3,W=1"},
                                TriedSize{4, 12, 3, "F=5,I=6,W=4"}, TriedSize{4, 8, 0, "F=1,I=1,W=1,comm=0.25"}}) {
    CAPTURE(size.devices);
    CAPTURE(size.times);
    const Ticks best = best_found(search_schedules(catalogue_only(size)));
    std::int64_t compared = 0;
    const auto compare = [&](const std::string& name, std::int32_t chunks,
                             const std::map<std::string, std::string>& options) {
      const std::optional<Ticks> makespan = run_by_name(size, name, chunks, options);
      if (!makespan) return;
      ++compared;
      CAPTURE(name);
      CAPTURE(chunks);
      CHECK(*makespan >= best);
    };
    for (std::int32_t number = 1; number <= 16; ++number) {
      const std::string text = std::to_string(number);
      for (std::int32_t chunks = 1; chunks <= 8; ++chunks) {
        for (const char* name : {"interleaved", "interleaved-zb", "gis"}) compare(name, chunks, {{"group", text}});
        compare("interleaved", chunks, {{"ahead", text}});
        compare("breadth-first", chunks, {{"passes", text}, {"order", "reverse"}});
        compare("hanayo", chunks, {});
      }
      compare("kfkb", 0, {{"k", text}});
      compare("eager-1f1b", 0, {{"limit", text}});
      compare("dapple", 0, {{"policy", "b"}, {"limit", text}});
      compare("2bp", 0, {{"base", "gpipe"}, {"concat", text}});
      if (number <= 8) compare("fold3d", static_cast<std::int32_t>(number), {});
    }
    CHECK(compared > 40);
  }
}

TEST_CASE("a search without a number of stages per device takes the chunks and groups that fit") {
  // By `simulate NAME -v 8 --per-device` with these limits.
  CHECK(best_found(search_schedules(catalogue_only({8, 16, 9, "F=1,I=1.8,W=0.2"}))) <= kSearchedMs * 50'625 / 1'000);
  const ScheduleSearchAnswer open = search_schedules(catalogue_only({8, 16, 6, "F=2,I=3,W=1"}));
  CHECK(best_found(open) <= kSearchedMs * 114'375 / 1'000);
  CHECK(open.best_of_catalogue()->name == "gis v=8 group=4");
}

TEST_CASE("a search for two stages per device compares nothing else, and its bound is theirs") {
  ScheduleSearch search = catalogue_only({8, 16, 6, "F=2,I=3,W=1"});
  search.chunks = 2;
  const ScheduleSearchAnswer answer = search_schedules(search);
  CHECK(answer.best_of_catalogue()->name == "gis v=2 group=4");
  CHECK(answer.best_of_catalogue()->timeline.makespan == kSearchedMs * 121'500 / 1'000);
  for (const SearchedOrder& order : answer.orders) {
    CAPTURE(order.name);
    CHECK(order.schedule.num_stages == 16);
    CHECK(order.timeline.makespan >= order.bound);
  }
  std::vector<std::string> families;
  for (const SearchedFamily& family : answer.families) families.push_back(family.name);
  CHECK(families == std::vector<std::string>{"two stages per device, looped, whole backwards",
                                             "two stages per device, looped, split backwards",
                                             "two stages per device in a V, whole backwards",
                                             "two stages per device in a V, split backwards"});
}

TEST_CASE("values that are tried: words, numbers up to 64 and larger divisors, but no lists and no other questions") {
  const auto tried = [](const char* name, const OptionForms& values, OptionDefault usual, std::int64_t m) {
    return tried_values({name, values, usual, ""}, 4, m);
  };
  CHECK(tried("order", {"fifo", "reverse"}, "fifo", 8) == std::vector<std::string>{"reverse"});
  CHECK(tried("k", {count_form("K"), "auto"}, 2, 4) == std::vector<std::string>{"1", "3", "4", "auto"});
  CHECK(tried("lengths", {"equal", list_form("L,L,...")}, "equal", 8).empty());
  CHECK(tried("limit", {count_form("K"), list_form("K-K-...")}, "none", 2) == std::vector<std::string>{"1", "2"});
  CHECK(tried("policy", {"a", "b"}, "a", 8) == std::vector<std::string>{"b"});
  CHECK(tried("replicas", list_form("N-N-..."), 1, 8).empty());
  CHECK(tried("validation", {"none", "sync", "post"}, "none", 8).empty());
  const std::vector<std::string> large = tried("group", count_form("N"), "p", 256);
  CHECK(large.size() == 66);
  CHECK(large.back() == "256");
  CHECK(large[64] == "128");
  // From a million microbatches on, only divisions into at most 256 parts are tried.
  const std::vector<std::string> huge = tried("group", count_form("N"), "p", 1 << 20);
  CHECK(huge.size() == 64 + 9);
  CHECK(huge[64] == std::to_string((1 << 20) / 256));
}

TEST_SUITE_END();
