#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <vector>

#include "sim/plan_search/bounds/packing.hpp"
#include "sim/plan_search/bounds/packing_bounds.hpp"
#include "tests/support/drawn_prices.hpp"

TEST_SUITE_BEGIN("plan search");

namespace plumb::testing {
namespace {

/// The last time that is known not to be enough, looked for one by one.
Ticks last_not_enough(const std::function<bool(Ticks)>& enough) {
  Ticks time = 0;
  while (!enough(time)) ++time;
  return std::max<Ticks>(0, time - 1);
}

/// Whether some way to put the loads from `next` on into bins with so much room each is possible.
bool fit(const std::vector<Ticks>& loads, std::size_t next, std::vector<double>& room) {
  if (next == loads.size()) return true;
  for (double& bin : room) {
    const auto load = static_cast<double>(loads[next]);
    if (bin < load) continue;
    bin -= load;
    const bool found = fit(loads, next + 1, room);
    bin += load;
    if (found) return true;
  }
  return false;
}

/// Of loads of which few are unlike the others and bins that are alike: exact.
Ticks exactly_packed(const std::vector<Ticks>& loads, std::size_t bins, double rate, double at_once) {
  return last_not_enough([&](Ticks time) {
    std::vector<double> room(bins, static_cast<double>(time) * rate + at_once);
    if (room.front() < 0) return false;
    std::vector<Ticks> some;
    for (const Ticks load : loads) {
      if (load > 0) some.push_back(load);
    }
    return fit(some, 0, room);
  });
}

/// Of unlike bins: all together, and as many as are at least so large, for every load.
Ticks loosely_packed(const std::vector<Ticks>& loads, const std::vector<double>& rates, double at_once) {
  return last_not_enough([&](Ticks time) {
    double together = 0;
    double all = 0;
    for (const double rate : rates) together += static_cast<double>(time) * rate + at_once;
    for (const Ticks load : loads) all += static_cast<double>(load);
    if (together < all) return false;
    return std::ranges::all_of(loads, [&](Ticks load) {
      std::int64_t slots = 0;
      for (const double rate : rates) {
        const double room = static_cast<double>(time) * rate + at_once;
        if (room >= static_cast<double>(load)) slots += static_cast<std::int64_t>(room / static_cast<double>(load));
      }
      return slots >= std::ranges::count_if(loads, [&](Ticks other) { return other >= load; });
    });
  });
}

/// What is packed of a schedule with a stage on each place, or first stages in order: backwards in halves (`splits`) or
/// in one, on places of speed 1.
struct PlainPacking {
  const LayerPrices& prices;
  std::int32_t places;
  std::int64_t m;
  bool splits;
  bool single;

  Ticks input(const LayerLeast& layer) const { return splits ? layer.alone.i : layer.alone.b; }
  Ticks backward(const LayerLeast& layer) const { return splits ? layer.alone.i + layer.alone.w : layer.alone.b; }
  Ticks passes(std::size_t k) const { return m * (prices.least[k].alone.f + backward(prices.least[k])); }
  Ticks load(std::size_t k) const { return passes(k) + prices.least[k].u; }
  std::size_t layers() const { return prices.least.size(); }

  /// All of it; and all backwards and updates after the forwards and messages of one microbatch.
  Ticks packed() const {
    std::vector<Ticks> all;
    std::vector<Ticks> behind;
    Ticks forwards = 0;
    for (std::size_t k = 0; k < layers(); ++k) {
      all.push_back(load(k));
      behind.push_back(load(k) - m * prices.least[k].alone.f);
      forwards += prices.least[k].alone.f;
    }
    const std::vector<double> rates(static_cast<std::size_t>(places), 1.0);
    const auto update = -static_cast<double>(prices.place_update);
    // The last moment before which there is no gradient is a hair before the forwards are done.
    const Ticks begun = forwards - 1 + least_messages(prices, places, places - 1);
    return std::max(packed_time(all, rates, update), begun + packed_time(behind, rates, update));
  }

  /// A cut into at most as many stages as places; each begins after the forwards before it, and before the gradients of
  /// the stages before it go back.
  Ticks in_line() const {
    Ticks best = -1;
    std::vector<std::size_t> bounds{0};
    const std::function<void()> extend = [&] {
      if (bounds.back() == layers()) {
        best = best < 0 ? longest(bounds) : std::min(best, longest(bounds));
        return;
      }
      for (std::size_t end = bounds.back() + 1; end <= layers() && std::ssize(bounds) <= places; ++end) {
        bounds.push_back(end);
        extend();
        bounds.pop_back();
      }
    };
    extend();
    return best - 2;  // a tick for rounding
  }
  Ticks longest(const std::vector<std::size_t>& bounds) const {
    Ticks most = 0;
    Ticks before = 0;
    Ticks behind = 0;
    for (std::size_t s = 0; s + 1 < bounds.size(); ++s) {
      Ticks work = prices.place_update;
      Ticks inputs = 0;
      Ticks forwards = 0;
      Ticks back = 0;
      for (std::size_t k = bounds[s]; k < bounds[s + 1]; ++k) {
        work += load(k);
        inputs += m * (prices.least[k].alone.f + input(prices.least[k]));
        forwards += prices.least[k].alone.f;
        back += input(prices.least[k]);
      }
      const Ticks hops = static_cast<Ticks>(s) * prices.hop;
      most = std::max(most, before + hops + std::max(work, inputs + behind + hops));
      before += forwards;
      behind += back;
    }
    return most;
  }

  /// First stages in the order of places, each at least a layer; the first layer is on the first place, the last one on
  /// the last, or on the first.
  Ticks in_order(bool last_is_first) const {
    const Ticks forth = ordered(last_is_first, false);
    return splits ? forth : std::max(forth, ordered(last_is_first, true));
  }
  Ticks ordered(bool last_is_first, bool goes_back) const {
    if (layers() < 3) return 0;
    const Ticks last_update = prices.least.front().u + (single ? 0 : prices.place_update);
    std::vector<Ticks> waits{goes_back ? last_update : prices.place_update};
    for (std::int32_t place = 1; place < places; ++place) {
      const LayerLeast& layer = prices.least[static_cast<std::size_t>(place - 1)];
      const Ticks way = layer.alone.f + prices.hop + (goes_back ? layer.alone.b + prices.hop : 0);
      waits.push_back(waits.back() + way);
    }
    const auto taken = [&](std::size_t k) { return goes_back ? passes(k) : load(k); };
    waits.front() += taken(0);
    (last_is_first ? waits.front() : waits.back()) += taken(layers() - 1);
    std::vector<Ticks> others;
    for (std::size_t k = 1; k + 1 < layers(); ++k) others.push_back(taken(k));
    const Ticks found = last_not_enough([&](Ticks time) {
      for (const Ticks wait : waits) {
        if (wait > time + 1) return false;
      }
      return std::ranges::all_of(others, [&](Ticks each) {
        std::int64_t slots = 0;
        for (const Ticks wait : waits) slots += (time + 1 - wait) / each;
        return slots >= std::ranges::count_if(others, [&](Ticks other) { return other >= each; });
      });
    });
    return found;
  }
};

}  // namespace

TEST_CASE("loads are packed as tightly as they can be, where few are unlike the others; elsewhere by size and sum") {
  std::mt19937 random(91);
  const auto draw = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    std::vector<Ticks> loads(static_cast<std::size_t>(draw(1, 6)), draw(3, 12));
    for (int k = draw(0, 4); k > 0; --k) loads.push_back(draw(0, 20));
    std::ranges::shuffle(loads, random);
    const auto bins = static_cast<std::size_t>(draw(1, 3));
    const double at_once = round % 3 == 0 ? draw(-9, 15) : 0;
    const double rate = round % 5 == 0 ? 2 : 1;
    CHECK(packed_time(loads, std::vector<double>(bins, rate), at_once) == exactly_packed(loads, bins, rate, at_once));
    std::vector<Ticks> positive;
    for (const Ticks load : loads) positive.push_back(std::max<Ticks>(1, load));
    const std::vector<double> unlike{1, 0.5, static_cast<double>(draw(1, 3))};
    CHECK(packed_time(positive, unlike, std::max(0.0, at_once)) ==
          loosely_packed(positive, unlike, std::max(0.0, at_once)));
  }
  // Five others are not tried in all ways.
  const std::vector<Ticks> many{7, 7, 3, 4, 5, 6, 8};
  CHECK(packed_time(many, std::vector<double>(2, 1.0)) == loosely_packed(many, std::vector<double>(2, 1.0), 0));
  CHECK(packed_time(std::vector<Ticks>{}, std::vector<double>(2, 1.0)) == 0);
}

TEST_CASE("bounds of stages in line, looped and turned are what their header says, of places of one speed") {
  std::mt19937 random(92);
  std::map<char, int> decides;
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    const auto places = static_cast<std::int32_t>(drawn_number(random, 1, 4));
    const auto layers = static_cast<std::size_t>(drawn_number(random, std::max(2, places), 6));
    LayerPrices prices = drawn_prices(random, layers, places, places, 0);
    const bool splits = round % 2 == 0;
    const std::int64_t m = drawn_number(random, 1, 4);
    const PlainPacking line{prices, places, m, splits, false};
    const PlainPacking round_them{prices, places, m, splits, true};
    const Ticks packed = line.packed();
    ScheduleKinds kinds{.fuses = !splits, .splits = splits};
    kinds.linear = true;
    const Ticks in_line = std::max({packed, line.in_line(), line.in_order(false)});
    CHECK(packing_bound(prices, places, m, kinds) == in_line);
    ++decides[in_line == packed ? 'p' : in_line == line.in_line() ? 'l' : 'o'];
    kinds.linear = false;
    kinds.single = kinds.looped = true;
    const Ticks looped = std::max(packed, round_them.in_order(false));
    CHECK(packing_bound(prices, places, m, kinds) == looped);
    kinds.looped = false;
    kinds.turned = kinds.deep = true;
    const Ticks turned = std::max(packed, std::min(round_them.in_order(false), round_them.in_order(true)));
    CHECK(packing_bound(prices, places, m, kinds) == turned);
    ++decides[turned > packed ? 't' : looped > packed ? 'r' : 'n'];
    kinds.looped = true;  // the least of the schedules that are asked about
    CHECK(packing_bound(prices, places, m, kinds) == std::min(looped, turned));
    kinds.sliced = true;
    CHECK(packing_bound(prices, places, m, kinds) == 0);
  }
  for (const char kind : {'p', 'l', 'o', 't', 'r'}) {
    CAPTURE(kind);
    CHECK(decides[kind] > 3);
  }
}

}  // namespace plumb::testing

TEST_SUITE_END();
