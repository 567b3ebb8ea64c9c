#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "schedules/catalogue/registry.hpp"
#include "sim/plan_search/device_orders.hpp"
#include "sim/plan_search/placed_schedule.hpp"
#include "sim/plan_search/plan_cuts.hpp"
#include "sim/plan_search/plan_estimates.hpp"
#include "sim/plan_search/plan_kinds.hpp"
#include "sim/plan_search/schedule_variants.hpp"
#include "tests/support/every_plan.hpp"

TEST_SUITE_BEGIN("plan search");

namespace plumb::testing {
namespace {

std::int64_t in_bounds(std::mt19937& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

ScheduleVariant variant_of(const std::string& name, std::int32_t chunks = 2) {
  return schedule_variants({.chunks = {chunks}, .schedules = {name}}).front();
}

/// Layers that may run again, as vectors.
struct AgainLayers {
  std::vector<Ticks> load, again;
  std::vector<std::int64_t> held, kept, spared;

  LayerLoads spans() const { return {load, held, kept, spared, again}; }

  /// What a stage takes, with as much of it run again as its room asks for; a negative number where it does not fit.
  Ticks time(std::size_t begin, std::size_t end, const StageRoom& room) const {
    Ticks time = 0;
    Ticks longer = 0;
    std::int64_t bytes = 0;
    std::int64_t saved = 0;
    for (std::size_t k = begin; k < end; ++k) {
      time += load[k];
      longer += again[k];
      bytes += held[k] + room.in_flight * kept[k];
      saved += room.in_flight * spared[k];
    }
    if (room.room_bytes == 0) return time;
    if (bytes > room.room_bytes) return -1;
    const std::int64_t missing = bytes + saved - room.room_bytes;
    if (missing <= 0 || saved == 0) return time;
    return time + static_cast<Ticks>(std::floor(static_cast<double>(longer * missing) / static_cast<double>(saved)));
  }
};

}  // namespace

TEST_CASE("a balanced cut runs as much again as its stages must, and no other cut has a faster slowest stage") {
  std::mt19937 random(101);
  int none = 0;
  int some = 0;
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    AgainLayers layers;
    const auto count = static_cast<std::size_t>(in_bounds(random, 1, 6));
    for (std::size_t k = 0; k < count; ++k) {
      layers.load.push_back(in_bounds(random, 1, 20));
      layers.again.push_back(in_bounds(random, 0, 9));
      layers.held.push_back(in_bounds(random, 1, 9));
      layers.kept.push_back(in_bounds(random, 0, 5));
      layers.spared.push_back(in_bounds(random, 0, 9));
    }
    std::vector<StageRoom> rooms;
    const auto stages = static_cast<std::size_t>(in_bounds(random, 1, 4));
    for (std::size_t s = 0; s < stages; ++s) {
      rooms.push_back({.speed = round % 3 == 0 ? 0.5 : 1,
                       .room_bytes = in_bounds(random, 0, 3) == 0 ? 0 : in_bounds(random, 10, 60),
                       .in_flight = in_bounds(random, 1, 3)});
    }
    Ticks best = -1;  // the least whole bound that some cut keeps
    const auto bound_of = [&](const Partition& cut) -> Ticks {
      Ticks bound = 0;
      for (std::size_t s = 0; s < stages; ++s) {
        const Ticks time = layers.time(cut.bounds[s], cut.bounds[s + 1], rooms[s]);
        if (time < 0) return -1;
        bound = std::max(bound, static_cast<Ticks>(std::ceil(static_cast<double>(time) / rooms[s].speed)));
      }
      return bound;
    };
    for (const Partition& cut : all_cuts(count, stages)) {
      const Ticks bound = bound_of(cut);
      if (bound >= 0 && (best < 0 || bound < best)) best = bound;
    }
    const std::optional<Partition> found = balanced_cut(layers.spans(), rooms);
    REQUIRE(found.has_value() == (best >= 0));
    ++(found ? some : none);
    if (!found) continue;
    CHECK(bound_of(*found) == best);
    // Boundaries from the last one are the nearest to even shares that the bound allows.
    const double all = static_cast<double>(std::accumulate(layers.load.begin(), layers.load.end(), Ticks{0}));
    double together = 0;
    for (const StageRoom& room : rooms) together += room.speed;
    const auto away = [&](std::size_t s, std::size_t bound) {
      double share = 0;
      for (std::size_t t = 0; t < s; ++t) share += rooms[t].speed;
      const auto before =
          std::accumulate(layers.load.begin(), layers.load.begin() + static_cast<std::ptrdiff_t>(bound), Ticks{0});
      return std::abs(static_cast<double>(before) - all * share / together);
    };
    std::vector<std::size_t> nearest = found->bounds;
    for (std::size_t s = stages; s-- > 1;) {
      for (const Partition& cut : all_cuts(count, stages)) {
        const bool same_end = std::equal(cut.bounds.begin() + static_cast<std::ptrdiff_t>(s) + 1, cut.bounds.end(),
                                         nearest.begin() + static_cast<std::ptrdiff_t>(s) + 1);
        const Ticks bound = bound_of(cut);
        if (same_end && bound >= 0 && bound <= best) CHECK(away(s, nearest[s]) <= away(s, cut.bounds[s]) + 1e-9);
      }
    }
  }
  CHECK(none > 20);
  CHECK(some > 50);
}

TEST_CASE("of more than twelve stages a layer moves to a neighbour, or away from a crowded stage to any") {
  const auto moves = [](std::size_t stages, std::vector<std::size_t> crowded) {
    Partition cut;
    for (std::size_t s = 0; s <= stages; ++s) cut.bounds.push_back(2 * s);
    std::vector<std::pair<std::size_t, std::size_t>> from_to;
    for (const Partition& near : near_cuts(cut, crowded)) {
      std::pair<std::size_t, std::size_t> move{stages, stages};
      for (std::size_t s = 0; s < stages; ++s) {
        const std::size_t layers = near.bounds[s + 1] - near.bounds[s];
        if (layers == 1) move.first = s;
        if (layers == 3) move.second = s;
      }
      from_to.push_back(move);
    }
    return from_to;
  };
  CHECK(moves(12, {}).size() == 12 * 11);
  const auto few = moves(13, {});
  CHECK(few.size() == 2 * 12);
  for (const auto& [from, to] : few) CHECK((from + 1 == to || to + 1 == from));
  CHECK(moves(13, {5}).size() == 2 * 12 + 12 - 2);
  CHECK(moves(13, {0}).size() == 2 * 12 + 12 - 1);
  CHECK(count_cuts(5, 0, 9) == 0);
  CHECK(count_cuts(5, 6, 9) == 0);
  CHECK(count_cuts(5, 3, 6) == 6);
  CHECK(count_cuts(5, 3, 5) == 6);
}

TEST_CASE("stages stand where their placement says, and a search tries what its layers and its evenness allow") {
  const auto places = [](const std::string& name, std::size_t count) {
    std::vector<std::size_t> all;
    for (std::size_t s = 0; s < count; ++s) {
      for (const std::size_t at : positions_of(variant_of(name), s, 3)) all.push_back(at);
    }
    return all;
  };
  CHECK(places("1f1b", 3) == std::vector<std::size_t>{0, 1, 2});
  CHECK(places("interleaved", 6) == std::vector<std::size_t>{0, 1, 2, 0, 1, 2});
  CHECK(places("zb-v", 6) == std::vector<std::size_t>{0, 1, 2, 2, 1, 0});
  CHECK(places("hanayo", 9) == std::vector<std::size_t>{0, 1, 2, 2, 1, 0, 0, 1, 2});
  CHECK(places("chimera", 3) == std::vector<std::size_t>{0, 2, 1, 1, 2, 0});
  for (const char* name : {"1f1b", "interleaved", "zb-v", "hanayo"}) CHECK(has_known_places(variant_of(name)));
  CHECK_FALSE(has_known_places(variant_of("chimera")));
  const auto on = [](const std::string& name) { return placement_of(variant_of(name), {4, 0, 2}); };
  const auto devices = [&](const std::string& name) {
    std::vector<std::int32_t> all;
    const auto placement = on(name);
    for (const auto& holders : placement.at(0)) all.push_back(static_cast<std::int32_t>(holders.front()));
    return all;
  };
  CHECK(devices("1f1b") == std::vector<std::int32_t>{4, 0, 2});
  CHECK(devices("interleaved") == std::vector<std::int32_t>{4, 0, 2, 4, 0, 2});
  CHECK(devices("zb-v") == std::vector<std::int32_t>{4, 0, 2, 2, 0, 4});
  CHECK(on("chimera").empty());
  ScheduleVariant variant = variant_of("interleaved", 3);
  CHECK(variant.stages(4) == 12);
  CHECK(variant.is_tried(4, 12));
  CHECK_FALSE(variant.is_tried(4, 11));
  CHECK(variant.is_tried(1, 3));
  variant.more_than_one = true;  // another variant does the same on one place
  CHECK_FALSE(variant.is_tried(1, 3));
  CHECK(variant.is_tried(2, 6));
  variant.even_only = true;  // 12 stages of the same number of layers; embedding and head count as one each, or as none
  for (std::size_t layers = 12; layers <= 40; ++layers) {
    CAPTURE(layers);
    const std::size_t rest = layers % 12;
    CHECK(variant.is_tried(4, layers) == (rest == 0 || (rest == 1 && layers > 12) || (rest == 2 && layers > 13)));
  }
}

TEST_CASE("variants that may do unlike things with passes or places are bounded apart") {
  std::map<std::int32_t, std::tuple<std::string_view, bool, bool, bool, bool, bool>> kinds;
  for (const char* name : {"1f1b", "interleaved", "zb-v", "hanayo", "chimera"}) {
    for (int bits = 0; bits < 32; ++bits) {
      ScheduleVariant variant = variant_of(name);
      variant.overlaps = (bits & 1) != 0;
      variant.fuses = (bits & 2) != 0;
      variant.splits = (bits & 4) != 0;
      variant.moves = (bits & 8) != 0;
      variant.hides_backwards = (bits & 16) != 0;
      CHECK(variant.group() >= 0);
      CHECK(variant.group() < 6 * 32);
      CHECK(kinds
                .emplace(variant.group(), std::tuple(variant.spec->placement, variant.overlaps, variant.fuses,
                                                     variant.splits, variant.moves, variant.hides_backwards))
                .second);
    }
  }
  CHECK(kinds.size() == 5 * 32);
  const auto one = [](std::vector<std::string> names) {
    return one_place_variant(schedule_variants({.chunks = {2}, .schedules = std::move(names)}));
  };
  CHECK(one({"gpipe", "interleaved", "1f1b"}) == 2);
  CHECK(one({"interleaved", "gpipe"}) == 1);
  CHECK(one({"interleaved", "zb-v"}) == 2);  // none
}

TEST_CASE("what running again takes is in proportion to the bytes that are missing, and nothing where none are") {
  LayerPrices prices;
  prices.load = {30, 10};
  prices.again = {6, 2};  // a fifth longer with everything run again
  prices.kept_bytes = {5, 5};
  prices.spared_bytes = {30, 10};
  prices.whole_held_bytes = 40;
  prices.usable_bytes = {100, 90};
  const ProbableRoom room(prices);
  // Half of 40 held, and of 50 kept per stash: 1.6 of them fit on the roomiest place.
  CHECK(room.again(2, 1.6) == doctest::Approx(1));
  CHECK(room.again(2, 2) == doctest::Approx(1 + 0.2 * 20 / 80));
  CHECK(room.again(2, 4) == doctest::Approx(1 + 0.2 * 120 / 160));
  CHECK(room.again(2, 50) == doctest::Approx(1.2));
  CHECK(room.again(1, 2) == doctest::Approx(1 + 0.2 * 40 / 80));
  CHECK(room.again(2, 0) == 1);
  prices.usable_bytes = {30, 30};
  CHECK(ProbableRoom(prices).again(1, 0) == 1);  // weights alone do not fit: what keeps nothing has nothing to spare
  prices.usable_bytes[0] = 100;
  prices.usable_bytes[1] = 0;
  CHECK(ProbableRoom(prices).again(2, 50) == 1);
  prices.usable_bytes[1] = 90;
  prices.spared_bytes = {0, 0};
  CHECK(ProbableRoom(prices).again(2, 50) == 1);
}

TEST_CASE("all orders of places are those of every arrangement that differs, each once") {
  std::mt19937 random(102);
  for (int round = 0; round < 40; ++round) {
    CAPTURE(round);
    const auto places = static_cast<std::int32_t>(in_bounds(random, 2, 5));
    const auto length = static_cast<std::int32_t>(in_bounds(random, 1, places));
    LayerPrices prices;
    for (std::int32_t k = 0; k < places; ++k) {
      prices.speed.push_back(in_bounds(random, 0, 1) == 0 ? 0.5 : 1);
      prices.usable_bytes.push_back(in_bounds(random, 5, 6));
      prices.node.push_back(k / 2);
      if (round % 2 == 0) prices.price.push_back(static_cast<double>(in_bounds(random, 1, 2)));
    }
    prices.near_is_better = round % 3 != 0;
    using Kind = std::tuple<double, std::int64_t, double>;
    const auto kind = [&](std::int32_t k) {
      const auto at = static_cast<std::size_t>(k);
      return Kind{prices.speed[at], prices.usable_bytes[at], prices.price.empty() ? 0 : prices.price[at]};
    };
    const auto node_kinds = [&](std::int32_t node) {
      std::vector<Kind> all;
      for (std::int32_t k = 0; k < places; ++k) {
        if (prices.node[static_cast<std::size_t>(k)] == node) all.push_back(kind(k));
      }
      return all;
    };
    // Nodes are told by when they come, and by what they are made of.
    const auto signature = [&](const std::vector<std::int32_t>& order) {
      std::map<std::int32_t, std::size_t> met;
      std::vector<std::tuple<std::size_t, std::vector<Kind>, Kind>> all;
      for (const std::int32_t k : order) {
        const std::int32_t node = prices.node[static_cast<std::size_t>(k)];
        met.emplace(node, met.size());
        all.emplace_back(met[node], node_kinds(node), kind(k));
      }
      return all;
    };
    bool alike = prices.near_is_better;
    for (std::int32_t k = 1; k < places; ++k) alike = alike && kind(k) == kind(0);
    const DeviceOrders found = device_orders(prices, length, 1000);
    CHECK(found.complete);
    if (alike) {
      CHECK(found.orders.size() == 1);
      continue;
    }
    std::set<std::vector<std::tuple<std::size_t, std::vector<Kind>, Kind>>> expected;
    for (const auto& order : every_order(places, length)) expected.insert(signature(order));
    decltype(expected) made;
    for (const auto& order : found.orders) CHECK(made.insert(signature(order)).second);
    CHECK(made == expected);
    CHECK(device_orders(prices, length, expected.size()).complete);
    if (expected.size() > 1) CHECK_FALSE(device_orders(prices, length, expected.size() - 1).complete);
    prices.in_order = true;
    std::vector<std::int32_t> natural(static_cast<std::size_t>(length));
    std::iota(natural.begin(), natural.end(), 0);
    CHECK(device_orders(prices, length, 1000).orders == std::vector<std::vector<std::int32_t>>{natural});
  }
}

TEST_CASE("orders near another one exchange two places of unlike kinds or nodes, where any are of unlike speed") {
  LayerPrices prices;
  prices.speed = {1, 1, 0.5, 0.5};
  prices.usable_bytes = {5, 5, 5, 5};
  prices.node = {0, 0, 1, 1};
  using Orders = std::vector<std::vector<std::int32_t>>;
  CHECK(swapped_orders(prices, {0, 1, 2}) == Orders{{2, 1, 0}, {0, 2, 1}});
  CHECK(swapped_orders(prices, {0, 1}).empty());
  prices.node = {0, 1, 1, 1};
  CHECK(swapped_orders(prices, {0, 1, 2}) == Orders{{1, 0, 2}, {2, 1, 0}, {0, 2, 1}});
  prices.speed = {1, 1, 1, 1};
  CHECK(swapped_orders(prices, {0, 1, 2}).empty());
  prices.speed[0] = 2;
  prices.in_order = true;
  CHECK(swapped_orders(prices, {0, 1, 2}).empty());
}

TEST_CASE("a schedule on places in an order has its lists, holders and peers there") {
  Schedule schedule = generate("dapple", {.num_devices = 3, .num_microbatches = 4, .options = {{"replicas", "1-2"}}});
  const std::vector<std::int32_t> order{4, 0, 2};
  const Schedule there = placed(schedule, order);
  CHECK(there.num_devices == 5);
  REQUIRE(there.devices.size() == 5);
  for (std::size_t at = 0; at < 3; ++at)
    CHECK(there.devices[static_cast<std::size_t>(order[at])] == schedule.devices[at]);
  for (const std::size_t idle : {1U, 3U}) CHECK(there.devices[idle].actions.empty());
  for (std::size_t s = 0; s < 2; ++s) {
    for (std::size_t k = 0; k < schedule.placement[0][s].size(); ++k) {
      const auto was = static_cast<std::size_t>(schedule.placement[0][s][k]);
      CHECK(there.placement[0][s][k] == DeviceId{order[was]});
    }
  }
  CHECK(placed(schedule, std::vector<std::int32_t>{0, 1, 2}) == schedule);
  CHECK(placed(schedule, std::vector<std::int32_t>{0, 1, 3}).num_devices == 4);
  schedule.devices[0].actions.front().where = 2;
  CHECK(placed(schedule, order).devices[4].actions.front().where == 2);
  schedule.devices[0].actions.front().where = 1;
  CHECK(placed(schedule, order).devices[4].actions.front().where == 0);
  schedule.devices[0].actions.front().where = 0;
  CHECK(placed(schedule, order).devices[4].actions.front().where == 4);
  schedule.devices[0].actions.front().where = Action::kHost;
  CHECK(placed(schedule, order).devices[4].actions.front().where == Action::kHost);
}

TEST_CASE(
    "of two plans the one that fits, then the faster, the cheaper, the smaller and the one with more room is better") {
  const auto score = [](std::int64_t excess, std::int64_t step, double price, std::int32_t places, std::int64_t peak) {
    ScoredPlan made{.step_ns = step};
    made.plan.places = places;
    made.plan.schedule = "1f1b";
    made.excess_bytes = excess;
    made.price_per_hour = price;
    made.peak_bytes = peak;
    return made;
  };
  const std::vector<ScoredPlan> rising{score(0, 5, 9, 9, 9), score(0, 6, 8, 9, 9), score(0, 6, 9, 7, 9),
                                       score(0, 6, 9, 8, 8), score(0, 6, 9, 8, 9), score(1, 5, 1, 1, 1)};
  for (std::size_t a = 0; a < rising.size(); ++a) {
    for (std::size_t b = 0; b < rising.size(); ++b) CHECK(better_plan(rising[a], rising[b]) == (a < b));
  }
  std::vector<ScoredPlan> kept{score(0, 1, 0, 4, 0), score(0, 2, 0, 4, 0), score(0, 3, 0, 5, 0), score(0, 4, 0, 6, 0)};
  keep_families(kept, 2);
  REQUIRE(kept.size() == 2);
  CHECK(kept[0].step_ns == 1);
  CHECK(kept[1].step_ns == 3);
}

}  // namespace plumb::testing

TEST_SUITE_END();
