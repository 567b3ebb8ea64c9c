#include "sim/plan_search/bounds/plan_bounds.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "sim/plan_search/bounds/chain_bounds.hpp"
#include "tests/support/drawn_prices.hpp"

TEST_SUITE_BEGIN("plan search");

namespace plumb::testing {
namespace {

/// Of places `speed`, fastest first, in the words of the header. Rounding may spare a tick of every pass of a layer,
/// and where places are not of speed 1 as many again as the fastest does in a tick.
Ticks plain_shared(const LayerPrices& prices, const std::vector<double>& speed, std::int64_t m,
                   std::optional<Ticks> crossing) {
  const auto layers = std::ssize(prices.load);
  const bool exact = std::ranges::all_of(speed, [](double each) { return each == 1; });
  const Ticks spared = layers * (exact ? 1 : 1 + static_cast<Ticks>(std::ceil(speed.front())));
  const auto places = std::ssize(speed);
  const Ticks each_an_update = (places - 1) * prices.least_update + prices.most_update;
  const auto positive = [](Ticks ticks) { return std::max<Ticks>(0, ticks); };
  const Ticks update = positive(std::max(prices.whole.u, each_an_update) + places * prices.place_update - spared);
  const Ticks forward = positive(prices.whole.f - spared);
  const Ticks backward = positive(std::min(prices.whole.b, prices.whole.i + prices.whole.w) - layers - spared);
  const Ticks input = positive(std::min(prices.whole.b, prices.whole.i) - spared);
  const double together = std::accumulate(speed.begin(), speed.end(), 0.0);
  const auto divided = [&](Ticks work) { return static_cast<Ticks>(std::floor(static_cast<double>(work) / together)); };
  const auto fastest = [&](Ticks work) {
    return static_cast<Ticks>(std::floor(static_cast<double>(work) / speed.front()));
  };
  const Ticks all = divided(m * (forward + backward) + update);
  if (!crossing) return all;
  return std::max(
      {all, fastest(forward) + *crossing + divided(m * backward + update), fastest(forward + input) + 2 * *crossing});
}

/// The microbatch that ends last: through all layers and back on the fastest place, but on as many others as there are
/// the least layers; the others through the last layer; what comes after its gradient for the first layer; messages.
Ticks plain_chain(const LayerPrices& prices, const std::vector<double>& speed, std::int64_t m,
                  const ScheduleKinds& kinds) {
  const bool exact = std::ranges::all_of(speed, [](double each) { return each == 1; });
  const Ticks tick = exact ? 0 : static_cast<Ticks>(std::ceil(speed.front()));
  const auto less = [&](Ticks ticks, std::int64_t passes) { return std::max<Ticks>(0, ticks - passes * tick); };
  const bool fuses = kinds.fuses || !kinds.splits;
  const bool splits = kinds.splits || !kinds.fuses;
  const auto of = [&](const LayerLeast& layer) { return kinds.overlaps ? layer.paired : layer.alone; };
  const auto input = [&](const LayerLeast& layer) {
    return fuses && splits ? std::min(of(layer).b, of(layer).i) : fuses ? of(layer).b : of(layer).i;
  };
  const auto backward = [&](const LayerLeast& layer) {
    const Ticks halves = of(layer).i + of(layer).w;
    return fuses && splits ? std::min(of(layer).b, halves) : fuses ? of(layer).b : halves;
  };
  std::vector<Ticks> work;
  double time = 0;
  for (const LayerLeast& layer : prices.least) {
    work.push_back(less(layer.alone.f + input(layer), 4));
    time += static_cast<double>(work.back()) / speed.front();
  }
  std::sort(work.begin(), work.end());
  for (std::size_t k = 0; k < std::min(work.size(), speed.size()); ++k) {  // the least to the slowest
    const double slow = speed[speed.size() - 1 - k];
    time += static_cast<double>(work[k]) * (1 / slow - 1 / speed.front());
  }
  const LayerLeast& last = prices.least.back();
  const LayerLeast& first = prices.least.front();
  const std::int64_t turns = kinds.copied ? (m + 1) / 2 : m;
  const Ticks others = (turns - 1) * less(of(last).f + input(last), 2);
  const Ticks after =
      less(backward(first) - input(first), 2) + less(first.u + (kinds.single ? 0 : prices.place_update), 1);
  time += static_cast<double>(others + after) / speed.front();
  const std::int64_t hops = (std::ssize(speed) - 1) * (kinds.copied ? 1 : kinds.per_place);
  const std::int64_t nodes = (std::ssize(speed) - 1) / prices.most_in_node;
  const Ticks messages = nodes * prices.crossing + std::max<std::int64_t>(0, hops - nodes) * prices.hop;
  return static_cast<Ticks>(std::floor(time * (1 - 1e-12))) + 2 * messages;
}

/// One of 1, powers of two, so that all quotients are exact.
void draw_speeds(std::mt19937& random, LayerPrices& prices) {
  constexpr std::array kSpeeds{0.5, 1.0, 2.0, 4.0};
  for (double& speed : prices.speed) speed = kSpeeds[static_cast<std::size_t>(drawn_number(random, 0, 3))];
}

std::vector<double> fastest_of(const LayerPrices& prices, std::int32_t places) {
  std::vector<double> speed = prices.speed;
  std::sort(speed.begin(), speed.end(), std::greater<>());
  speed.resize(static_cast<std::size_t>(places));
  return speed;
}

}  // namespace

TEST_CASE("bounds of a setup are what its header says: shared work, the largest layer, and the last microbatch's way") {
  std::mt19937 random(43);
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    LayerPrices prices = drawn_prices(random, static_cast<std::size_t>(drawn_number(random, 1, 6)), 5,
                                      static_cast<std::int32_t>(drawn_number(random, 1, 3)), 0);
    if (round % 2 == 1) draw_speeds(random, prices);
    const auto places = static_cast<std::int32_t>(drawn_number(random, 1, 5));
    const std::int64_t m = drawn_number(random, 1, 6);
    const std::vector<double> speed = fastest_of(prices, places);
    const Ticks crossing = places > prices.most_in_node ? prices.crossing : 0;
    const Ticks rounding = speed.front() == 1 ? 0 : 4 * m;
    const Ticks largest = std::ranges::max(prices.load);
    const auto of_largest = [&](std::int64_t turns) {
      return static_cast<Ticks>(std::floor(static_cast<double>(largest * turns) / speed.front())) - rounding;
    };
    CHECK(setup_bound(prices, places, m, {.other = true}) == plain_shared(prices, speed, m, crossing));
    CHECK(setup_bound(prices, places, m, {.sliced = true}) ==
          std::max(of_largest(m), plain_shared(prices, speed, m, std::nullopt)));
    CHECK(held_bound(prices, speed, m, {}) == plain_shared(prices, speed, m, 0));
    CHECK(held_bound(prices, speed, m, {.sliced = true}) == plain_shared(prices, speed, m, std::nullopt));
    LayerPrices unknown = prices;  // stages are not sums: cuts and trades prove nothing
    unknown.times.clear();
    ScheduleKinds kinds{.overlaps = round % 3 == 0, .fuses = round % 4 < 2, .splits = round % 8 < 4};
    kinds.copied = round % 5 == 0;
    kinds.single = !kinds.copied && round % 5 < 3;
    kinds.linear = !kinds.copied && !kinds.single;
    kinds.per_place = static_cast<std::int32_t>(drawn_number(random, 1, 3));
    const Ticks blind = std::max({of_largest(kinds.copied ? (m + 1) / 2 : m), plain_shared(prices, speed, m, crossing),
                                  plain_chain(prices, speed, m, kinds)});
    CHECK(setup_bound(unknown, places, m, kinds) == blind);
    const StagePlacing placing = kinds.copied   ? StagePlacing::kCopied
                                 : kinds.single ? StagePlacing::kSingle
                                                : StagePlacing::kLinear;
    CHECK(setup_bound(prices, places, m, kinds) ==
          std::max({blind, traded_bound(prices, places, m), cuts_bound(prices, places, m, placing)}));
    unknown.least.clear();
    CHECK(setup_bound(unknown, places, m, kinds) ==
          std::max(of_largest(kinds.copied ? (m + 1) / 2 : m), plain_shared(prices, speed, m, crossing)));
    Ticks any = plain_shared(prices, fastest_of(prices, 1), m, 0);
    for (std::int32_t held = 2; held <= 5; ++held)
      any = std::min(any, plain_shared(prices, fastest_of(prices, held), m, 0));
    CHECK(replicated_bound(prices, m) == any);
  }
}

TEST_CASE("the way of the last microbatch decides where layers are many and microbatches few") {
  LayerPrices prices;
  prices.load.assign(4, 30);
  prices.least.assign(4, {.alone = {10, 20, 12, 8}, .paired = {9, 19, 11, 7}, .u = 5});
  prices.whole = {.f = 40, .b = 80, .i = 48, .w = 32, .u = 20};
  prices.speed.assign(4, 1);
  prices.most_in_node = 2;
  prices.crossing = 100;
  prices.hop = 7;
  prices.place_update = 3;
  // 4 (10 + 12) there and back; the other 2 microbatches through the last layer, 22 each; 8 and 5 + 3 after it; and
  // twice a message between nodes and two inside.
  const Ticks split = 4 * 22 + 2 * 22 + 8 + 8 + 2 * (100 + 14);
  const ScheduleKinds linear{.linear = true, .splits = true};
  CHECK(setup_bound(prices, 4, 3, linear) == split - 1);
  // Backwards in one: nothing of the first layer's comes after its gradient.
  const ScheduleKinds fused{.linear = true, .fuses = true};
  CHECK(setup_bound(prices, 4, 3, fused) == 4 * 30 + 2 * 30 + 8 + 2 * (100 + 14) - 1);
  // Other stages of a place may have the whole of its update, and there are more messages.
  const ScheduleKinds two{.single = true, .splits = true, .per_place = 2};
  CHECK(setup_bound(prices, 4, 3, two) == split - 3 + 2 * 3 * 7 - 1);
  // Two places share 3 microbatches: 2 of them, at least.
  const ScheduleKinds copies{.copied = true, .splits = true, .per_place = 2};
  CHECK(setup_bound(prices, 4, 3, copies) == split - 22 - 1);
  const ScheduleKinds paired{.overlaps = true, .linear = true, .splits = true};
  CHECK(setup_bound(prices, 4, 3, paired) == 4 * 21 + 2 * 20 + 7 + 8 + 2 * (100 + 14) - 1);
}

TEST_CASE("bytes are missing by place, or by what the largest layer needs more than the largest place has") {
  LayerPrices prices;
  prices.whole_held_bytes = 1000;
  prices.held_bytes = {300, 400, 300};
  prices.usable_bytes = {200, 350, 300, 100};
  CHECK(missing_bytes(prices, 1) == 1000 - 350);
  CHECK(missing_bytes(prices, 2) == (1000 - 650) / 2);
  CHECK(missing_bytes(prices, 3) == 50);  // 150 of three places, 50 of the largest layer
  prices.held_bytes[1] = 351;
  CHECK(missing_bytes(prices, 4) == (1000 - 950 + 3) / 4);
  prices.held_bytes[1] = 350;
  prices.whole_held_bytes = 951;
  CHECK(missing_bytes(prices, 4) == 1);
  prices.whole_held_bytes = 950;
  CHECK(missing_bytes(prices, 4) == 0);
  CHECK(missing_bytes(prices, 3) == (950 - 850 + 2) / 3);
  prices.memory_scale = {1, 4, 8, 2};  // of a real byte up to eight
  CHECK(missing_bytes(prices, 3) == 34 / 8);
  CHECK(missing_bytes(prices, 4) == 0);
  prices.whole_held_bytes = 951;
  CHECK(missing_bytes(prices, 4) == 1);  // an eighth, and yet it is missing
  prices.usable_bytes[0] = 0;            // no limit
  CHECK(missing_bytes(prices, 1) == 0);
}

TEST_CASE("the least messages go to every node once, and otherwise from place to place") {
  LayerPrices prices;
  prices.most_in_node = 4;
  prices.crossing = 100;
  prices.hop = 3;
  CHECK(least_messages(prices, 1, 0) == 0);
  CHECK(least_messages(prices, 4, 3) == 9);
  CHECK(least_messages(prices, 5, 4) == 100 + 9);
  CHECK(least_messages(prices, 8, 7) == 100 + 18);
  CHECK(least_messages(prices, 9, 8) == 200 + 18);
  CHECK(least_messages(prices, 9, 17) == 200 + 45);
  CHECK(least_messages(prices, 9, 1) == 200);
}

TEST_CASE("kinds of several variants are those of any of them, and the fewest stages of a place") {
  const auto kinds = [](std::vector<std::string> names, std::vector<std::int32_t> chunks = {2}) {
    return kinds_of(schedule_variants({.chunks = std::move(chunks), .schedules = std::move(names)}));
  };
  const ScheduleKinds linear = kinds({"1f1b"});
  CHECK((linear.linear && linear.fuses));
  CHECK_FALSE((linear.single || linear.copied || linear.other || linear.looped || linear.turned || linear.overlaps));
  CHECK_FALSE(linear.splits);
  CHECK_FALSE(linear.moves);
  CHECK_FALSE(linear.sliced);
  CHECK_FALSE(linear.deep);
  CHECK(linear.per_place == 1);
  const ScheduleKinds looped = kinds({"interleaved"}, {3, 2, 4});
  CHECK((looped.single && looped.looped));
  CHECK_FALSE((looped.turned || looped.linear));
  CHECK(looped.per_place == 2);
  const ScheduleKinds folded = kinds({"zb-v"});
  CHECK((folded.single && folded.turned && folded.splits));
  CHECK_FALSE((folded.looped || folded.deep));
  CHECK(folded.per_place == 2);
  const ScheduleKinds copied = kinds({"chimera"});
  CHECK(copied.copied);
  CHECK_FALSE((copied.single || copied.linear));
  const ScheduleKinds all = kinds({"chimera", "1f1b", "interleaved", "zb-v"});
  CHECK((all.copied && all.linear && all.single && all.looped && all.turned && all.fuses && all.splits));
  CHECK(all.per_place == 1);
}

}  // namespace plumb::testing

TEST_SUITE_END();
