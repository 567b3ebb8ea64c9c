#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "models/costs/time_limits.hpp"
#include "sim/plan_search/bounds/chain_bounds.hpp"
#include "sim/plan_search/bounds/layer_sums.hpp"
#include "tests/support/drawn_prices.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("plan search");

namespace plumb::testing {
namespace {

/// The definition of `cuts_bound` in plain loops, of places of speed 1: may a step take so long?
class PlainCuts {
 public:
  PlainCuts(const LayerPrices& prices, std::int32_t places, std::int64_t microbatches, StagePlacing placing)
      : prices_(prices),
        places_(places),
        m_(microbatches),
        turns_(placing == StagePlacing::kCopied ? (microbatches + 1) / 2 : microbatches),
        linear_(placing == StagePlacing::kLinear),
        in_node_(std::min(places, prices.most_in_node)),
        nodes_((places + in_node_ - 1) / in_node_) {}

  bool possible(Ticks step) const { return runs_fit(step) && carried(step) && (!linear_ || some_cut(step, 0, 0, 1)); }

 private:
  std::size_t layers() const { return prices_.times.size(); }

  template <class Of>
  std::int64_t sum(std::size_t begin, std::size_t end, Of of) const {
    std::int64_t all = 0;
    for (std::size_t k = begin; k < end; ++k) all += of(k);
    return all;
  }
  Ticks forward(std::size_t begin, std::size_t end) const {
    return sum(begin, end, [&](std::size_t k) { return prices_.times[k].f; });
  }
  Ticks input(std::size_t begin, std::size_t end) const {
    return sum(begin, end, [&](std::size_t k) { return std::min(prices_.times[k].b, prices_.times[k].i); });
  }
  Ticks work(std::size_t begin, std::size_t end) const {
    return turns_ * sum(begin, end, [&](std::size_t k) { return prices_.load[k]; });
  }
  std::int64_t down_bytes(std::size_t cut) const {
    return cut == 0 || cut == layers() ? 0 : prices_.memory[cut - 1].output_bytes;
  }
  std::int64_t up_bytes(std::size_t cut) const {
    return cut == 0 || cut == layers() ? 0 : prices_.memory[cut].input_grad_bytes;
  }

  /// Two ticks less than what it takes: what rounding may spare.
  static Ticks over(const Cluster::Network& link, std::int64_t bytes, bool with_latency) {
    const auto latency = static_cast<double>(link.latency_ns);
    const double all = latency + static_cast<double>(bytes) / link.bytes_per_s * 1e9 - 2;
    return static_cast<Ticks>(std::floor(std::max(0.0, with_latency ? all : all - latency)));
  }
  Ticks message(std::size_t cut, bool down, bool far, bool with_latency) const {
    if (cut == 0 || cut == layers()) return 0;
    const std::int64_t bytes = down ? down_bytes(cut) : up_bytes(cut);
    const Ticks between = over(prices_.far, bytes, with_latency);
    return far ? between : std::min(between, over(prices_.near, bytes, with_latency));
  }
  bool open(std::size_t cut, bool far, Ticks step) const {
    return forward(0, cut) + turns_ * std::max(message(cut, true, far, false), message(cut, false, far, false)) <= step;
  }

  bool on_one_place(std::size_t begin, std::size_t end, bool is_stage, Ticks step) const {
    std::int64_t bytes = sum(begin, end, [&](std::size_t k) { return prices_.held_bytes[k]; });
    if (linear_) bytes += sum(begin, end, [&](std::size_t k) { return prices_.kept_bytes[k]; });
    if (is_stage) bytes += down_bytes(begin) + down_bytes(end);
    const std::int64_t room = std::ranges::max(prices_.usable_bytes);
    if (room > 0 && bytes > room) return false;
    const Ticks before = forward(0, begin) + (is_stage ? message(begin, true, false, true) : 0);
    const Ticks back = input(0, begin) + (is_stage ? message(begin, false, false, true) : 0);
    return before + std::max(work(begin, end), turns_ * (forward(begin, end) + input(begin, end)) + back) <= step;
  }

  /// Layers without an open cut between them are on one place, or in one node.
  bool runs_fit(Ticks step) const {
    std::int32_t near = 0;
    std::int32_t far = 0;
    for (const bool between : {false, true}) {
      std::size_t begin = 0;
      for (std::size_t end = 1; end <= layers(); ++end) {
        if (end < layers() && !open(end, between, step)) continue;
        if (!between && !on_one_place(begin, end, false, step)) return false;
        if (between && work(begin, end) > step * in_node_) return false;
        begin = end;
        ++(between ? far : near);
      }
    }
    return near >= places_ && far >= nodes_;
  }

  /// The fewest bytes of so many cuts within what shared links carry, for some number of crossings between nodes.
  bool carried(Ticks step) const {
    std::vector<std::int64_t> bytes;
    for (std::size_t cut = 1; cut < layers(); ++cut) bytes.push_back(m_ * (down_bytes(cut) + up_bytes(cut)));
    std::sort(bytes.begin(), bytes.end());
    const auto fits = [&](std::int32_t cuts, const Cluster::Network& link) {
      const double per_ns = std::min(places_, prices_.node.back() + 1) * link.bytes_per_s / 1e9;
      const auto count = std::min<std::ptrdiff_t>(cuts, std::ssize(bytes));
      const auto all = std::accumulate(bytes.begin(), bytes.begin() + count, std::int64_t{0});
      return !link.shared || static_cast<double>(all) * (1 - 1e-9) <= per_ns * static_cast<double>(step);
    };
    for (std::int32_t far = nodes_ - 1; far < places_; ++far) {
      if (fits(far, prices_.far) && fits(places_ - 1 - far, prices_.near)) return true;
    }
    return false;
  }

  /// Every cut into stages, one on each place, with enough cuts that may be between nodes.
  bool some_cut(Ticks step, std::size_t begin, std::int32_t stages, std::int32_t runs) const {
    if (begin == layers()) return stages == places_ && runs >= nodes_;
    for (std::size_t end = begin + 1; end <= layers() && stages < places_; ++end) {
      if (!on_one_place(begin, end, true, step)) continue;
      if (end < layers() && !open(end, false, step)) continue;
      if (some_cut(step, end, stages + 1, runs + (end < layers() && open(end, true, step) ? 1 : 0))) return true;
    }
    return false;
  }

  const LayerPrices& prices_;
  std::int32_t places_;
  std::int64_t m_;
  std::int64_t turns_;
  bool linear_;
  std::int32_t in_node_;
  std::int32_t nodes_;
};

/// One microbatch through all layers and back.
Ticks one_turn(const LayerPrices& prices) { return std::accumulate(prices.load.begin(), prices.load.end(), Ticks{0}); }

}  // namespace

TEST_CASE("the bound of cuts is the last step before the first that leaves enough cuts, found by trying all") {
  std::mt19937 random(36);
  int never = 0;
  int found = 0;
  for (int round = 0; round < 240; ++round) {
    CAPTURE(round);
    const auto places = static_cast<std::int32_t>(drawn_number(random, 1, 4));
    const std::int64_t m = drawn_number(random, 1, 5);
    const auto layers = static_cast<std::size_t>(drawn_number(random, 2, 5));
    const LayerPrices prices = drawn_prices(
        random, layers, places, static_cast<std::int32_t>(drawn_number(random, 1, 2)), round % 2 == 0 ? 0 : 240);
    const StagePlacing placing = round % 3 == 0   ? StagePlacing::kLinear
                                 : round % 3 == 1 ? StagePlacing::kSingle
                                                  : StagePlacing::kCopied;
    const PlainCuts plain(prices, places, m, placing);
    const Ticks most = one_turn(prices) << 10;
    Ticks step = most;
    if (plain.possible(most)) {
      step = 1;
      while (!plain.possible(step)) ++step;
      CHECK(cuts_bound(prices, places, m, placing) == step - 1);
      ++found;
    } else {
      CHECK(cuts_bound(prices, places, m, placing) == most);
      ++never;
    }
  }
  CHECK(never > 10);
  CHECK(found > 100);
}

TEST_CASE("the traded bound is the largest of all prices of time, room and links in 24ths") {
  std::mt19937 random(37);
  int by_room = 0;
  int by_links = 0;
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    const auto places = static_cast<std::int32_t>(drawn_number(random, 1, 4));
    const std::int64_t m = drawn_number(random, 1, 9);
    LayerPrices prices = drawn_prices(random, 3, places, 2, 90 + 20 * (round % 5));
    for (std::int64_t& kept : prices.kept_bytes) kept *= 8;
    prices.host_link = {.bytes_per_s = round % 3 == 0 ? 0 : 5e8, .devices_per_link = 1 + round % 2};
    const double whole = static_cast<double>(one_turn(prices));
    const std::int64_t all_room =
        std::accumulate(prices.usable_bytes.begin(), prices.usable_bytes.end(), std::int64_t{0});
    const auto room = static_cast<double>(all_room - prices.whole_held_bytes);
    // A link to the host for every device, or for two neighbours; half a byte per tick each.
    const std::int32_t links_of_node = round % 2 == 0 ? prices.most_in_node : (prices.most_in_node + 1) / 2;
    const double links =
        prices.host_link.bytes_per_s > 0 ? 0.5 * std::min(places, (prices.node.back() + 1) * links_of_node) : 0;
    double best = whole / places;
    double without_links = best;
    for (int b = 0; b < 24 && room > 0; ++b) {
      for (int c = 0; c + b < 24 && (links > 0 || c == 0); ++c) {
        double spent = 0;
        for (std::size_t k = 0; k < 3; ++k) {
          const StageTimes& times = prices.times[k];
          Ticks life = 0;
          for (std::size_t after = k; after < 3; ++after) {
            life += prices.times[after].f + std::min(prices.times[after].b, prices.times[after].i);
          }
          const double place = (24 - b - c) / 24.0 / places;
          const auto kept = static_cast<double>(prices.kept_bytes[k]);
          const double again = place * static_cast<double>(std::min(times.f, times.r));
          const double stays = b / 24.0 / room * kept * static_cast<double>(life);
          const double moved = links > 0 ? c / 24.0 / links * kept : 0.0;
          spent += place * static_cast<double>(prices.load[k]) + std::min({again, stays, moved});
        }
        best = std::max(best, spent);
        if (c == 0) without_links = std::max(without_links, spent);
      }
    }
    by_room += without_links > whole / places ? 1 : 0;
    by_links += best > without_links ? 1 : 0;
    const Ticks bound = traded_bound(prices, places, m);
    CHECK(bound == static_cast<Ticks>(std::floor(best * static_cast<double>(m) * (1 - 1e-9))));
  }
  CHECK(by_links > 2);
}

TEST_CASE("sums over layers know their room, their messages and rings, and what a faster place makes of work") {
  std::mt19937 random(38);
  LayerPrices prices = drawn_prices(random, 3, 4, 2, 100);
  prices.near = {.latency_ns = 50, .bytes_per_s = 2e8};
  prices.far = {.latency_ns = 70, .bytes_per_s = 5e7};
  prices.usable_bytes = {50, 90, 70, 60};
  const LayerSums sums(prices, 3);
  CHECK(sums.layers() == 3);
  CHECK(sums.room_bytes == 90);
  // 100 bytes: 500 ns and 50 ns inside a node, 2000 ns and 70 ns between; two for rounding.
  CHECK(sums.message(100, false).all == 548);
  CHECK(sums.message(100, false).sending == 498);
  CHECK(sums.message(100, true).all == 2068);
  CHECK(sums.message(100, true).sending == 1998);
  CHECK(sums.message(0, false).sending == 0);
  // Rings of 2 (n - 1) steps with 1/n of the bytes each: within a node up to two places.
  CHECK(sums.reduction(100, 1) == 0);
  CHECK(sums.reduction(100, 2) == 2 * (50 + 250) - 1);
  CHECK(sums.reduction(100, 2, true) == 2 * (70 + 1000) - 1);
  CHECK(sums.reduction(150, 3) == 4 * (70 + 1000) - 1);
  CHECK(sums.in_time(1000) == 1000);
  prices.usable_bytes[2] = 0;  // no limit
  prices.speed = {1, 2, 1, 1};
  const LayerSums fast(prices, 3);
  CHECK(fast.room_bytes == std::numeric_limits<std::int64_t>::max());
  CHECK(fast.message(100, false).all == 2 * 548);
  CHECK(fast.in_time(1000) == 500 - 2 * 4 * 4);  // two roundings of each of four passes of three layers and an update
  CHECK(fast.in_time(63) == 0);
  prices.whole.all_reduce = 1;  // given, so that rings prove nothing
  CHECK(LayerSums(prices, 3).reduction(100, 2) == 0);
  prices.whole.all_reduce = 0;
  prices.links_are_modelled = false;
  CHECK(LayerSums(prices, 3).message(100, true).all == 0);
  CHECK(LayerSums(prices, 3).reduction(100, 2) == 0);
}

TEST_CASE("layers whose step no clock can hold are refused, and those at the limit are not") {
  std::mt19937 random(39);
  LayerPrices prices = drawn_prices(random, 2, 1, 1, 0);
  const double most = static_cast<double>(kMostRun) / 4096;  // bounds multiply a step by up to so much
  const auto refused = [&](double share, std::int64_t m) {
    const auto all = static_cast<Ticks>(share * most / static_cast<double>(m + 1));
    // Whole backwards or halves, whichever are longer, and updates.
    prices.times[0] = {.f = all / 4, .b = all / 4, .i = 1, .w = 1, .u = all / 8};
    prices.times[1] = {.f = all / 8, .b = 1, .i = all / 16, .w = all / 16, .u = all / 8};
    return error_message([&] { LayerSums(prices, m); });
  };
  for (const std::int64_t m : {1, 2, 9}) {
    for (const double speed : {0.5, 1.0, 2.0}) {
      CAPTURE(m);
      CAPTURE(speed);
      prices.speed[0] = speed;
      const double limit = 1 / std::max(1.0, speed);
      CHECK(refused(0.999 * limit, m).empty());
      CHECK(refused(1.001 * limit, m)
                .starts_with("plan: all layers take, for " + std::to_string(m) + " microbatches of a step, "));
    }
  }
}

TEST_CASE(
    "the least step is found exactly up to a hundred thousand ticks, and given up after a thousand times the base") {
  for (const Ticks base : {Ticks{0}, Ticks{1}, Ticks{7}, Ticks{1000}}) {
    for (const Ticks least : {Ticks{1}, Ticks{2}, Ticks{6}, Ticks{7}, Ticks{8}, Ticks{900}, Ticks{1001}}) {
      CAPTURE(base);
      CAPTURE(least);
      const Ticks most = std::max<Ticks>(1, base) << 10;
      const StepRange range = least_step(base, [&](Ticks step) { return step >= least; });
      CHECK(range.impossible == (least > most ? most : least - 1));
      CHECK(range.possible == (least > most ? 0 : least));
    }
  }
  const StepRange edge = least_step(5, [](Ticks step) { return step > 5 * 1024; });
  CHECK(edge.possible == 0);
  CHECK(edge.impossible == 5 * 1024);
  CHECK(least_step(5, [](Ticks step) { return step >= 5 * 1024; }).possible == 5 * 1024);
  const StepRange wide = least_step(100'000'000, [](Ticks step) { return step >= 70'000'000; });
  CHECK(wide.possible - wide.impossible <= 1 + wide.possible / 100'000);
  CHECK(wide.possible - wide.impossible > 1);
}

}  // namespace plumb::testing

TEST_SUITE_END();
