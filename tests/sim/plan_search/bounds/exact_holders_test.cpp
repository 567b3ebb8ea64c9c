#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "sim/plan_search/bounds/holder_bounds.hpp"
#include "sim/plan_search/bounds/plan_bounds.hpp"
#include "tests/support/drawn_prices.hpp"

TEST_SUITE_BEGIN("plan search");

namespace plumb::testing {
namespace {

/// The definition of `holders_bound` in plain loops, for layers that are not cut into halves of a ring. Slow places are
/// twice or four times as slow as the others, whose speed is 1.
class PlainHolders {
 public:
  PlainHolders(const LayerPrices& prices, std::int64_t microbatches) : prices_(prices), m_(microbatches) {
    std::vector<bool> has_fast(prices.speed.size());
    std::vector<bool> has_slow(prices.speed.size());
    double slow = 0;
    for (std::size_t place = 0; place < prices.speed.size(); ++place) {
      const auto node = static_cast<std::size_t>(prices.node[place]);
      if (prices.speed[place] == 1) {
        ++fast_;
        has_fast[node] = true;
        continue;
      }
      ++slow_;
      has_slow[node] = true;
      slow = std::max(slow, prices.speed[place]);
      slow_room_ = std::max(slow_room_, prices.usable_bytes[place]);
    }
    times_as_long_ = slow > 0 ? 1 / slow : 1;
    for (std::size_t node = 0; node < has_fast.size(); ++node) mixed_ = mixed_ || (has_fast[node] && has_slow[node]);
    for (std::size_t k = 0; k <= prices.times.size(); ++k) {
      const bool inside = k > 0 && k < prices.times.size();
      down_bytes_.push_back(inside ? prices.memory[k - 1].output_bytes : 0);
      down_.push_back(inside ? least_message(down_bytes_.back()) : 0);
      up_.push_back(inside ? least_message(prices.memory[k].input_grad_bytes) : 0);
    }
  }

  /// Whether some cut gives each stage holders that are done within `step`.
  bool possible(Ticks step, bool told_apart) const {
    return told_apart ? some_cut(step, 0, fast_, slow_) : some_cut(step, 0, fast_ + slow_, 0);
  }

  bool has_slow() const { return slow_ > 0; }

 private:
  std::size_t layers() const { return prices_.times.size(); }

  static double hop(const Cluster::Network& link, double bytes) {
    return static_cast<double>(link.latency_ns) + bytes / link.bytes_per_s * 1e9;
  }
  Ticks least_message(std::int64_t bytes) const {
    const double least =
        std::min(hop(prices_.near, static_cast<double>(bytes)), hop(prices_.far, static_cast<double>(bytes)));
    return static_cast<Ticks>(std::floor(std::max(0.0, least - 2)));
  }
  Ticks ring(std::int64_t bytes, std::int32_t holders, bool between) const {
    if (holders < 2) return 0;
    const double part = static_cast<double>(bytes) / holders;
    const double far = hop(prices_.far, part);
    const bool crosses = between || holders > prices_.most_in_node;
    const double step = crosses ? far : std::min(far, hop(prices_.near, part));
    return static_cast<Ticks>(std::floor(2 * (holders - 1) * step - 1));
  }

  template <class Of>
  std::int64_t sum(std::size_t begin, std::size_t end, Of of) const {
    std::int64_t all = 0;
    for (std::size_t k = begin; k < end; ++k) all += of(k);
    return all;
  }
  Ticks forward(std::size_t begin, std::size_t end) const {
    return sum(begin, end, [&](std::size_t k) { return prices_.times[k].f; });
  }
  Ticks turn(std::size_t begin, std::size_t end) const {
    return sum(begin, end, [&](std::size_t k) { return prices_.load[k]; });
  }

  /// Stashes for which there is room beside weights, messages, and what neighbouring layers inside hand on.
  std::int64_t most_kept(std::size_t begin, std::size_t end, std::int64_t room) const {
    if (room == 0) return m_;
    std::int64_t inside = 0;
    for (std::size_t cut = begin + 1; cut < end; ++cut) {
      inside = std::max(inside, down_bytes_[cut] + (cut + 1 < end ? down_bytes_[cut + 1] : 0));
    }
    const std::int64_t kept = sum(begin, end, [&](std::size_t k) { return prices_.kept_bytes[k]; });
    const std::int64_t left = room - inside - down_bytes_[begin] - down_bytes_[end] -
                              sum(begin, end, [&](std::size_t k) { return prices_.held_bytes[k]; });
    return left < 0 ? 0 : kept == 0 ? m_ : left / kept;
  }

  static std::int64_t rounded_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

  bool done(std::size_t begin, std::size_t end, std::int32_t fast, std::int32_t slow, Ticks step) const {
    const std::int64_t count = fast + slow;
    const std::int64_t most = rounded_up(m_, count);
    const Ticks one = turn(begin, end);
    const Ticks life = turn(begin, layers()) + down_[end] + up_[end];
    Ticks busy = 0;
    if (fast > 0) {
      const std::int64_t kept = most_kept(begin, end, std::ranges::max(prices_.usable_bytes));
      if (kept == 0) return false;
      busy = std::max(most * one, rounded_up(most, kept) * life);
    }
    if (slow > 0) {
      const std::int64_t kept = most_kept(begin, end, slow_room_);
      if (kept == 0) return false;
      // Dealt in turn: only where more have one microbatch more than there are fast ones has a slow one so many.
      const std::int64_t turns = m_ % count > fast ? most : m_ / count;
      const auto longer = static_cast<Ticks>(static_cast<double>(one) * times_as_long_ * (1 - 1e-9));
      if (turns > 0) busy = std::max({busy, turns * longer, rounded_up(turns, kept) * (life - one + longer)});
    }
    const std::int64_t gradients = sum(begin, end, [&](std::size_t k) { return prices_.memory[k].gradient_bytes; });
    const Ticks back = turn(0, begin) - forward(0, begin) + up_[begin];
    const bool between = fast > 0 && slow > 0 && !mixed_;
    const Ticks end_of_step = std::max(back, ring(gradients, fast + slow, between));
    return forward(0, begin) + down_[begin] + busy + end_of_step <= step;
  }

  bool some_cut(Ticks step, std::size_t begin, std::int32_t fast, std::int32_t slow) const {
    if (begin == layers()) return true;
    for (std::size_t end = begin + 1; end <= layers(); ++end) {
      for (std::int32_t own_fast = 0; own_fast <= fast; ++own_fast) {
        for (std::int32_t own_slow = own_fast == 0 ? 1 : 0; own_slow <= slow; ++own_slow) {
          if (!done(begin, end, own_fast, own_slow, step)) continue;
          if (some_cut(step, end, fast - own_fast, slow - own_slow)) return true;
        }
      }
    }
    return false;
  }

  const LayerPrices& prices_;
  std::int64_t m_;
  std::int32_t fast_ = 0;
  std::int32_t slow_ = 0;
  std::int64_t slow_room_ = 0;
  double times_as_long_ = 1;
  bool mixed_ = false;
  std::vector<std::int64_t> down_bytes_;
  std::vector<Ticks> down_;
  std::vector<Ticks> up_;
};

/// The last step before the first that is possible; the last that is tried where none is.
Ticks last_impossible(const PlainHolders& plain, bool told_apart, Ticks most) {
  if (!plain.possible(most, told_apart)) return most;
  Ticks low = 0;
  Ticks high = most;
  while (high - low > 1) {
    const Ticks middle = (low + high) / 2;
    (plain.possible(middle, told_apart) ? high : low) = middle;
  }
  return low;
}

Ticks turn_of(const LayerPrices& prices) { return std::accumulate(prices.load.begin(), prices.load.end(), Ticks{0}); }

}  // namespace

TEST_CASE("the bound of holders is the last step before the first in which some cut and holders are done") {
  std::mt19937 random(39);
  int never = 0;
  int several = 0;
  for (int round = 0; round < 150; ++round) {
    CAPTURE(round);
    const auto places = static_cast<std::int32_t>(drawn_number(random, 1, 5));
    const std::int64_t m = drawn_number(random, 1, 7);
    const auto layers = static_cast<std::size_t>(drawn_number(random, 1, 4));
    const auto per_node = static_cast<std::int32_t>(drawn_number(random, 1, 3));
    const LayerPrices prices = drawn_prices(random, layers, places, per_node, round % 2 == 0 ? 0 : 150);
    const PlainHolders plain(prices, m);
    const Ticks most = turn_of(prices) << 10;
    const HoldersBound bound = holders_bound(prices, m);
    CHECK(bound.bound == last_impossible(plain, false, most));
    never += bound.bound == most ? 1 : 0;
    if (bound.bound == most) {
      CHECK(bound.replicas.empty());
      continue;
    }
    several += std::ranges::max(bound.replicas) > 1 ? 1 : 0;
    REQUIRE(bound.partition.num_stages() == bound.replicas.size());
    CHECK(bound.partition.bounds.front() == 0);
    CHECK(bound.partition.num_layers() == layers);
    CHECK(std::ranges::is_sorted(bound.partition.bounds));
    CHECK(std::accumulate(bound.replicas.begin(), bound.replicas.end(), 0) <= places);
    CHECK(std::ranges::min(bound.replicas) >= 1);
  }
  CHECK(never > 5);
  CHECK(several > 40);
}

TEST_CASE("slow places take fewer microbatches and more time, and a stage on both kinds reduces between nodes") {
  std::mt19937 random(40);
  int higher = 0;
  for (int round = 0; round < 150; ++round) {
    CAPTURE(round);
    const auto places = static_cast<std::int32_t>(drawn_number(random, 2, 4));
    const std::int64_t m = drawn_number(random, 1, 7);
    const auto layers = static_cast<std::size_t>(drawn_number(random, 1, 3));
    LayerPrices prices = drawn_prices(random, layers, places, static_cast<std::int32_t>(drawn_number(random, 1, 2)),
                                      round % 2 == 0 ? 0 : 320);
    for (std::size_t place = 0; place + 1 < prices.speed.size(); ++place) {
      prices.speed[place] = std::array{1.0, 0.5, 0.25}[static_cast<std::size_t>(drawn_number(random, 0, 2))];
    }
    const PlainHolders plain(prices, m);
    const Ticks most = turn_of(prices) << 10;
    const Ticks alike = last_impossible(plain, false, most);
    const Ticks unlike = plain.has_slow() ? last_impossible(plain, true, most) : 0;
    // Less what rounding may spare: two ticks for each pass and update of a layer.
    const bool rounds = plain.has_slow();
    const Ticks spared = rounds ? 2 * (m + 1) * static_cast<Ticks>(layers + 1) : 0;
    CHECK(holders_bound(prices, m).bound == std::max<Ticks>(0, std::max(alike, unlike) - spared));
    higher += unlike > alike ? 1 : 0;
  }
  CHECK(higher > 30);
}

TEST_CASE("without known stages a holder's bound counts what layers add at least, with backwards in one") {
  std::mt19937 random(41);
  for (int round = 0; round < 40; ++round) {
    CAPTURE(round);
    LayerPrices least = drawn_prices(random, 3, 3, 2, 0);
    LayerPrices sums = least;
    least.times.clear();
    least.memory.clear();
    for (std::size_t k = 0; k < 3; ++k) {
      const Ticks b = sums.least[k].alone.b;
      sums.times[k].b = sums.times[k].i = b;
      sums.times[k].w = 0;
    }
    CHECK(holders_bound(least, 4).bound == holders_bound(sums, 4).bound);
    least.messages.clear();
    CHECK(holders_bound(least, 4).bound == 0);
  }
}

TEST_CASE("on several nodes estimates have stages of any holders, and then of as many from every node") {
  std::mt19937 random(43);
  for (int round = 0; round < 12; ++round) {
    CAPTURE(round);
    const std::int32_t nodes = 1 + round % 4;
    const LayerPrices prices = drawn_prices(random, 4, 2 * nodes, 2, 0);
    const std::vector<HoldersBound> found = holder_estimates(prices, 6);
    REQUIRE(found.size() == (nodes == 1 ? 4U : 8U));  // with all links and those between nodes, all memory and less
    for (std::size_t k = 0; k < found.size(); ++k) {
      CHECK(std::accumulate(found[k].replicas.begin(), found[k].replicas.end(), 0) <= 2 * nodes);
      for (const std::int32_t holders : found[k].replicas) CHECK((k < 4 || holders % nodes == 0));
    }
  }
}

TEST_CASE("plans with several holders use what they say, and no bound of several setups is above the least") {
  std::mt19937 random(42);
  for (int round = 0; round < 20; ++round) {
    CAPTURE(round);
    const auto first = std::make_shared<const LayerPrices>(drawn_prices(random, 4, 4, 2, 400));
    const auto second = std::make_shared<const LayerPrices>(drawn_prices(random, 4, 3, 3, 0));
    const std::vector<UndividedSetup> setups{{.microbatches = 6, .prices = first},
                                             {.microbatches = 5, .prices = second}};
    for (const PipelinePlan& plan : replicated_plans(setups)) {
      CHECK(plan.schedule == "dapple");
      CHECK(plan.places == std::accumulate(plan.replicas.begin(), plan.replicas.end(), 0));
      CHECK(plan.places <= (plan.microbatches == 6 ? 4 : 3));
      CHECK(plan.partition.num_stages() == plan.replicas.size());
      CHECK(plan.partition.num_layers() == 4);
      for (std::size_t k = 0; k < plan.order.size(); ++k) CHECK(plan.order[k] == static_cast<std::int32_t>(k));
    }
    Ticks least = std::numeric_limits<Ticks>::max();
    for (const UndividedSetup& setup : setups) {
      least = std::min(least, std::max(holders_bound(*setup.prices, setup.microbatches).bound,
                                       replicated_bound(*setup.prices, setup.microbatches)));
    }
    CHECK(least_replicated(setups, std::numeric_limits<Ticks>::max()) == least);
    CHECK(least_replicated(setups, least - 1) == least - 1);
    CHECK(least_replicated(setups, 1) == 1);
  }
}

}  // namespace plumb::testing

TEST_SUITE_END();
