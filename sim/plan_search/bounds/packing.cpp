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

/// Most loads unlike the others that are tried in all ways.
constexpr std::size_t kMostOthers = 4;

/// Loads and bins: `common_count_` loads of `common_load_`, which most loads have, and others.
class Packing {
 public:
  Packing(std::span<const Ticks> loads, std::span<const double> rates, double at_once)
      : rates_(rates), at_once_(at_once) {
    for (const double rate : rates) {
      if (bins_by_rate_.empty() || bins_by_rate_.back().first != rate) bins_by_rate_.emplace_back(rate, 0);
      ++bins_by_rate_.back().second;
    }
    std::map<Ticks, std::int64_t, std::greater<>> counts;
    for (const Ticks load : loads) {
      if (load > 0) ++counts[load];
    }
    total_load_ = std::accumulate(loads.begin(), loads.end(), 0.0);
    const auto most = std::max_element(counts.begin(), counts.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == counts.end()) return;
    common_load_ = most->first;
    common_count_ = most->second;
    std::int64_t larger = 0;
    for (const auto& [load, count] : counts) {
      larger += count;
      count_of_at_least_.emplace_back(load, larger);
      for (std::int64_t k = 0; load != common_load_ && k < count; ++k)
        other_loads_.push_back(static_cast<double>(load));
    }
    const bool alike = std::adjacent_find(rates.begin(), rates.end(), std::not_equal_to<>()) == rates.end();
    tries_all_ways_ = alike && other_loads_.size() <= kMostOthers;
  }

  /// Returns a time that is not enough by statement 1, or 0.
  Ticks least() const {
    double rates = 0;
    double at_once = 0;
    for (const auto& [rate, count] : bins_by_rate_) {
      rates += rate * static_cast<double>(count);
      at_once += at_once_ * static_cast<double>(count);
    }
    const double time = (total_load_ * (1 - 1e-9) - at_once * (1 + 1e-9)) / rates - 1;
    return time > 0 ? static_cast<Ticks>(std::floor(time)) : 0;
  }

  /// Returns whether none of the three statements refutes `time`.
  bool possible(Ticks time) const {
    double together = 0;
    for (const auto& [rate, count] : bins_by_rate_) together += static_cast<double>(count) * capacity(time, rate);
    if (together < total_load_) return false;
    for (const auto& [load, needed] : count_of_at_least_) {
      std::int64_t slots = 0;
      for (const auto& [rate, count] : bins_by_rate_) {
        slots += count * slots_of(capacity(time, rate), static_cast<double>(load));
      }
      if (slots < needed) return false;
    }
    if (!tries_all_ways_ || common_load_ == 0) return true;
    std::vector<double> shared;
    return fits(capacity(time, rates_.front()), 0, shared);
  }

 private:
  /// Returns the room of a bin, and a little more than doubles may be off.
  double capacity(Ticks time, double rate) const {
    return (static_cast<double>(time) * rate + at_once_) * (1 + 1e-12) + 1e-6;
  }

  static std::int64_t slots_of(double capacity, double load) {
    return capacity < load ? 0 : static_cast<std::int64_t>(std::floor(capacity / load));
  }

  /// Statement 3: whether some way to put the other loads from `next` on into bins leaves slots for all equal loads.
  /// `shared` has what the bins that got other loads before have of them.
  bool fits(double capacity, std::size_t next, std::vector<double>& shared) const {
    if (next == other_loads_.size()) {
      std::int64_t slots =
          (std::ssize(rates_) - std::ssize(shared)) * slots_of(capacity, static_cast<double>(common_load_));
      for (const double taken : shared) {
        if (taken > capacity) return false;
        slots += slots_of(capacity - taken, static_cast<double>(common_load_));
      }
      return slots >= common_count_;
    }
    for (std::size_t bin = 0; bin < shared.size(); ++bin) {  // by number: what is tried grows `shared`
      const double before = shared[bin];
      shared[bin] += other_loads_[next];
      const bool found = fits(capacity, next + 1, shared);
      shared[bin] = before;
      if (found) return true;
    }
    if (shared.size() == rates_.size()) return false;
    shared.push_back(other_loads_[next]);
    const bool found = fits(capacity, next + 1, shared);
    shared.pop_back();
    return found;
  }

  std::span<const double> rates_;
  double at_once_;
  std::vector<std::pair<double, std::int64_t>> bins_by_rate_;  ///< rates, and how many neighbouring bins have each
  double total_load_ = 0;                                      ///< sum of all loads
  Ticks common_load_ = 0;
  std::int64_t common_count_ = 0;
  std::vector<double> other_loads_;
  std::vector<std::pair<Ticks, std::int64_t>> count_of_at_least_;  ///< loads, and how many are no smaller than each
  bool tries_all_ways_ = false;
};

}  // namespace

Ticks packed_time(std::span<const Ticks> loads, std::span<const double> rates, double at_once) {
  const Packing packing(loads, rates, at_once);
  if (packing.possible(0)) return 0;
  return least_possible(packing.least(), std::numeric_limits<Ticks>::max(),
                        [&](Ticks time) { return packing.possible(time); });
}

}  // namespace plumb
