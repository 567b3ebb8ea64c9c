#include "tools/training/disturbance.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

namespace plumb {
namespace {

constexpr double kSliceSeconds = 0.003;

/// Stolen and all time of all processors, in clock ticks.
std::pair<std::int64_t, std::int64_t> processor_times() {
  constexpr int kSteal = 7;
  constexpr int kFields = 8;  // user, nice, system, idle, iowait, irq, softirq, steal; guests are part of user
  std::ifstream stat("/proc/stat");
  std::string name;
  stat >> name;
  std::pair<std::int64_t, std::int64_t> times{0, 0};
  std::int64_t ticks = 0;
  for (int field = 0; field < kFields && stat >> ticks; ++field) {
    if (field == kSteal) times.first = ticks;
    times.second += ticks;
  }
  return times;
}

std::int64_t involuntary_switches() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

}  // namespace

double Disturbance::lost(std::int64_t threads) const {
  if (seconds <= 0) return 0;
  const double slices = static_cast<double>(switches) * kSliceSeconds / (seconds * static_cast<double>(threads));
  return std::min(1.0, steal + slices);
}

DisturbanceWatch::DisturbanceWatch() : begin_(std::chrono::steady_clock::now()), switches_(involuntary_switches()) {
  std::tie(stolen_, all_) = processor_times();
}

Disturbance DisturbanceWatch::read() const {
  const auto [stolen, all] = processor_times();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin_;
  return {.steal = all > all_ ? static_cast<double>(stolen - stolen_) / static_cast<double>(all - all_) : 0,
          .switches = involuntary_switches() - switches_,
          .seconds = seconds.count()};
}

std::vector<std::size_t> calm_rounds(const std::vector<double>& lost, double most) {
  std::vector<std::size_t> order(lost.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t round) { return lost[round]; });
  const auto calm = static_cast<std::size_t>(std::ranges::count_if(lost, [&](double share) { return share <= most; }));
  order.resize(std::max(calm, (lost.size() + 1) / 2));
  std::ranges::sort(order);
  return order;
}

}  // namespace plumb
