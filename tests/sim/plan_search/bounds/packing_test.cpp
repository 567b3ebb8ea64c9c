#include "sim/plan_search/bounds/packing.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <set>
#include <vector>

TEST_SUITE_BEGIN("plan search");

using namespace plumb;

namespace {

/// The least time of any way to put loads into bins.
double exhaustive_time(const std::vector<Ticks>& loads, const std::vector<double>& rates, double at_once) {
  double least = -1;
  std::vector<std::size_t> bin(loads.size(), 0);
  for (;;) {
    std::vector<double> sums(rates.size(), 0);
    for (std::size_t k = 0; k < loads.size(); ++k) sums[bin[k]] += static_cast<double>(loads[k]);
    double time = 0;
    for (std::size_t b = 0; b < rates.size(); ++b) time = std::max(time, (sums[b] - at_once) / rates[b]);
    if (least < 0 || time < least) least = time;
    std::size_t k = 0;
    while (k < bin.size() && ++bin[k] == rates.size()) bin[k++] = 0;
    if (k == bin.size()) return least;
  }
}

}  // namespace

TEST_CASE("no way to pack loads takes less than the bound, and of equal loads some way takes no more") {
  std::mt19937 random(7);
  const auto drawn = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<Ticks> loads(static_cast<std::size_t>(drawn(3, 7)), drawn(5, 40));
    for (int k = drawn(0, 2); k > 0; --k) loads[static_cast<std::size_t>(k)] = drawn(1, 60);
    std::vector<double> rates(static_cast<std::size_t>(drawn(1, 3)), 1.0);
    if (round % 3 == 0) rates.back() = 0.5;
    const double at_once = round % 4 == 0 ? drawn(0, 30) : 0;
    const double exact = exhaustive_time(loads, rates, at_once);
    const Ticks bound = packed_time(loads, rates, at_once);
    CHECK(static_cast<double>(bound) <= exact);
    const bool equal = std::set<Ticks>(loads.begin(), loads.end()).size() == 1;
    if (equal && rates.back() == 1.0) CHECK(static_cast<double>(bound) >= exact - 2);
  }
  // 80 layers on 64 places: one of them has two.
  CHECK(packed_time(std::vector<Ticks>(80, 1000), std::vector<double>(64, 1.0)) >= 1999);
}

TEST_CASE("the largest impossible number is found as far as it is asked for") {
  const auto possible = [](Ticks time) { return time > 1'000; };
  constexpr Ticks kAll = std::numeric_limits<Ticks>::max();
  CHECK(least_possible(0, kAll, possible) == 1'000);
  CHECK(least_possible(0, 500, possible) == 500);
  CHECK(least_possible(700, 500, possible) == 700);
  CHECK(least_possible(0, 5'000, possible) == 1'000);
}

TEST_SUITE_END();
