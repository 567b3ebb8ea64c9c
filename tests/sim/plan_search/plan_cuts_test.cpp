#include "sim/plan_search/plan_cuts.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>

#include "models/ground/error.hpp"
#include "sim/plan_search/device_orders.hpp"
#include "sim/plan_search/schedule_variants.hpp"

TEST_SUITE_BEGIN("plan search");

namespace {

using namespace plumb;

/// Time of the slowest stage; -1 when some stage does not fit.
double slowest(const LayerLoads& layers, const std::vector<StageRoom>& rooms, const Partition& cut) {
  double most = 0;
  for (std::size_t s = 0; s < rooms.size(); ++s) {
    Ticks load = 0;
    std::int64_t bytes = 0;
    for (std::size_t k = cut.bounds[s]; k < cut.bounds[s + 1]; ++k) {
      load += layers.load[k];
      bytes += layers.held_bytes[k] + rooms[s].in_flight * layers.kept_bytes[k];
    }
    if (rooms[s].room_bytes > 0 && bytes > rooms[s].room_bytes) return -1;
    most = std::max(most, static_cast<double>(load) / rooms[s].speed);
  }
  return most;
}

}  // namespace

TEST_CASE("the balanced cut has the fastest slowest stage of all cuts that fit") {
  std::mt19937 random(11);
  int fitting = 0;
  for (int trial = 0; trial < 300; ++trial) {
    CAPTURE(trial);
    const std::size_t count = 2 + random() % 7;
    std::vector<Ticks> load;
    std::vector<std::int64_t> held;
    std::vector<std::int64_t> kept;
    for (std::size_t k = 0; k < count; ++k) {
      load.push_back(static_cast<Ticks>(10 + random() % 90));
      held.push_back(static_cast<std::int64_t>(1 + random() % 20));
      kept.push_back(static_cast<std::int64_t>(random() % 10));
    }
    const LayerLoads layers{load, held, kept};
    std::vector<StageRoom> rooms;
    for (std::size_t s = 0; s < 1 + random() % 4; ++s) {
      rooms.push_back({.speed = random() % 2 == 0 ? 1.0 : 0.5,
                       .room_bytes = random() % 2 == 0 ? 0 : static_cast<std::int64_t>(30 + random() % 60),
                       .in_flight = static_cast<std::int64_t>(1 + random() % 3)});
    }
    double best = -1;
    const auto cuts = all_cuts(count, rooms.size());
    for (const Partition& cut : cuts) {
      const double time = slowest(layers, rooms, cut);
      if (time >= 0 && (best < 0 || time < best)) best = time;
    }
    const auto found = balanced_cut(layers, rooms);
    REQUIRE(found.has_value() == (best >= 0));
    if (!found) continue;
    ++fitting;
    CHECK(slowest(layers, rooms, *found) == doctest::Approx(best));
  }
  CHECK(fitting > 100);
}

TEST_CASE("cuts are counted as they are listed, and near ones move a single layer") {
  for (std::size_t layers = 1; layers <= 7; ++layers) {
    for (std::size_t stages = 1; stages <= layers; ++stages) {
      CHECK(static_cast<std::int64_t>(all_cuts(layers, stages).size()) == count_cuts(layers, stages, 1000));
    }
  }
  CHECK(count_cuts(100, 50, 1000) == 1001);
  CHECK(all_cuts(3, 4).empty());
  const Partition cut{{0, 2, 3, 6}};
  std::set<std::vector<std::size_t>> near;
  for (const Partition& one : near_cuts(cut, {})) near.insert(one.bounds);
  CHECK(near == std::set<std::vector<std::size_t>>{{0, 1, 3, 6}, {0, 1, 2, 6}, {0, 3, 4, 6}, {0, 2, 4, 6}});
}

TEST_CASE("orders: alike devices keep theirs, unlike ones come in every order that differs") {
  LayerPrices prices;
  prices.speed = {1, 1, 1, 1};
  prices.usable_bytes = {5, 5, 5, 5};
  prices.node = {0, 0, 1, 1};
  CHECK(device_orders(prices, 3, 100).orders == std::vector<std::vector<std::int32_t>>{{0, 1, 2}});
  prices.speed = {1, 1, 0.5, 0.5};
  const DeviceOrders all = device_orders(prices, 4, 100);
  CHECK(all.complete);
  CHECK(all.orders.size() == 6);  // 4! / (2! 2!)
  const DeviceOrders few = device_orders(prices, 3, 2);
  CHECK(!few.complete);
  CHECK(few.orders == std::vector<std::vector<std::int32_t>>{{0, 1, 2}, {2, 0, 1}});
}

TEST_CASE("what the search takes for the placement of a schedule is its placement") {
  for (const ScheduleVariant& variant : schedule_variants({.chunks = {2, 3}})) {
    for (const std::int64_t m : {8, 16}) {
      Schedule schedule;
      try {
        schedule = generate(variant.spec->name, {.num_devices = 4, .num_microbatches = m, .chunks = variant.chunks});
      } catch (const Error&) {
        continue;
      }
      const std::string_view name = variant.spec->placement;
      if (name != "linear" && name != "looped" && name != "v") continue;
      CAPTURE(variant.spec->name);
      REQUIRE(schedule.placement.size() == 1);
      REQUIRE(schedule.num_stages == variant.stages(4));
      for (std::int32_t s = 0; s < schedule.num_stages; ++s) {
        const std::int32_t device = name == "v" && s >= 4 ? 7 - s : s % 4;
        CHECK(schedule.placement[0][static_cast<std::size_t>(s)] == std::vector<DeviceId>{DeviceId{device}});
      }
    }
  }
}

TEST_SUITE_END();
