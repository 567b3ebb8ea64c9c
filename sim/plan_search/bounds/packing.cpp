#include "sim/plan_search/bounds/packing.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

namespace plumb {
namespace {

/// More other loads than these are not tried in all ways.
constexpr std::size_t kMostOthers = 4;

/// What is put into bins: `count` loads of `each`, and others.
class Packing {
 public:
  Packing(std::span<const Ticks> loads, std::span<const double> rates, double at_once)
      : rates_(rates), at_once_(at_once) {
    for (const double rate : rates) {
      if (counts_.empty() || counts_.back().first != rate) counts_.emplace_back(rate, 0);
      ++counts_.back().second;
    }
    std::map<Ticks, std::int64_t, std::greater<>> counts;
    for (const Ticks load : loads) {
      if (load > 0) ++counts[load];
    }
    all_ = std::accumulate(loads.begin(), loads.end(), 0.0);
    const auto most = std::max_element(counts.begin(), counts.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == counts.end()) return;
    each_ = most->first;
    count_ = most->second;
    std::int64_t larger = 0;
    for (const auto& [load, count] : counts) {
      larger += count;
      at_least_.emplace_back(load, larger);
      for (std::int64_t k = 0; load != each_ && k < count; ++k) others_.push_back(static_cast<double>(load));
    }
    const bool alike = std::adjacent_find(rates.begin(), rates.end(), std::not_equal_to<>()) == rates.end();
    tries_others_ = alike && others_.size() <= kMostOthers;
  }

  /// A time that is not enough, or 0.
  Ticks least() const {
    double rates = 0;
    double at_once = 0;
    for (const auto& [rate, count] : counts_) {
      rates += rate * static_cast<double>(count);
      at_once += at_once_ * static_cast<double>(count);
    }
    const double time = (all_ * (1 - 1e-9) - at_once * (1 + 1e-9)) / rates - 1;
    return time > 0 ? static_cast<Ticks>(std::floor(time)) : 0;
  }

  bool possible(Ticks time) const {
    double together = 0;
    for (const auto& [rate, count] : counts_) together += static_cast<double>(count) * capacity(time, rate);
    if (together < all_) return false;
    for (const auto& [load, needed] : at_least_) {
      std::int64_t slots = 0;
      for (const auto& [rate, count] : counts_) {
        slots += count * slots_of(capacity(time, rate), static_cast<double>(load));
      }
      if (slots < needed) return false;
    }
    if (!tries_others_ || each_ == 0) return true;
    std::vector<double> shared;
    return fits(capacity(time, rates_.front()), 0, shared);
  }

 private:
  /// A little more than doubles may be off.
  double capacity(Ticks time, double rate) const {
    return (static_cast<double>(time) * rate + at_once_) * (1 + 1e-12) + 1e-6;
  }

  static std::int64_t slots_of(double capacity, double load) {
    return capacity < load ? 0 : static_cast<std::int64_t>(std::floor(capacity / load));
  }

  /// Whether some way to put the others from `next` on into bins, `shared` beside those before, leaves slots for all of
  /// the equal loads.
  bool fits(double capacity, std::size_t next, std::vector<double>& shared) const {
    if (next == others_.size()) {
      std::int64_t slots = (std::ssize(rates_) - std::ssize(shared)) * slots_of(capacity, static_cast<double>(each_));
      for (const double taken : shared) {
        if (taken > capacity) return false;
        slots += slots_of(capacity - taken, static_cast<double>(each_));
      }
      return slots >= count_;
    }
    for (std::size_t bin = 0; bin < shared.size(); ++bin) {  // by number: what is tried grows `shared`
      const double before = shared[bin];
      shared[bin] += others_[next];
      const bool found = fits(capacity, next + 1, shared);
      shared[bin] = before;
      if (found) return true;
    }
    if (shared.size() == rates_.size()) return false;
    shared.push_back(others_[next]);
    const bool found = fits(capacity, next + 1, shared);
    shared.pop_back();
    return found;
  }

  std::span<const double> rates_;
  double at_once_;
  std::vector<std::pair<double, std::int64_t>> counts_;  ///< how many neighbours have a rate
  double all_ = 0;
  Ticks each_ = 0;
  std::int64_t count_ = 0;
  std::vector<double> others_;
  std::vector<std::pair<Ticks, std::int64_t>> at_least_;  ///< of every load, how many are no smaller
  bool tries_others_ = false;
};

}  // namespace

Ticks packed_time(std::span<const Ticks> loads, std::span<const double> rates, double at_once) {
  const Packing packing(loads, rates, at_once);
  if (packing.possible(0)) return 0;
  return least_possible(packing.least(), std::numeric_limits<Ticks>::max(),
                        [&](Ticks time) { return packing.possible(time); });
}

}  // namespace plumb
