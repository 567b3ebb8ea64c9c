#include "tools/training/disturbance.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <string>

namespace plumb {
namespace {

constexpr double kSliceSeconds = 0.003;

/// Time of all processors, in clock ticks.
struct ProcessorTimes {
  std::int64_t stolen = 0;
  std::int64_t busy = 0;  ///< of this machine's programs and system
  std::int64_t all = 0;
};

ProcessorTimes processor_times() {
  constexpr int kIdle = 3;
  constexpr int kWaits = 4;
  constexpr int kSteal = 7;
  constexpr int kFields = 8;  // user, nice, system, idle, iowait, irq, softirq, steal; guests are part of user
  std::ifstream stat("/proc/stat");
  std::string name;
  stat >> name;
  ProcessorTimes times;
  std::int64_t ticks = 0;
  for (int field = 0; field < kFields && stat >> ticks; ++field) {
    if (field == kSteal) times.stolen = ticks;
    if (field != kIdle && field != kWaits && field != kSteal) times.busy += ticks;
    times.all += ticks;
  }
  return times;
}

rusage own_usage() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage;
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

/// Time that this process computed.
double own_seconds(const rusage& usage) { return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime); }

}  // namespace

double Disturbance::lost(std::int64_t threads) const {
  if (seconds <= 0) return 0;
  const auto wanted = static_cast<double>(threads);
  const double slices = static_cast<double>(switches) * kSliceSeconds / (seconds * wanted);
  const double left = std::clamp(processors - others, 0.0, wanted);
  const double crowded = processors > 0 ? 1 - left / wanted : 0;
  return std::min(1.0, steal + std::max(slices, crowded));
}

DisturbanceWatch::DisturbanceWatch() : begin_(std::chrono::steady_clock::now()) {
  const ProcessorTimes now = processor_times();
  stolen_ = now.stolen;
  busy_ = now.busy;
  all_ = now.all;
  const rusage usage = own_usage();
  switches_ = usage.ru_nivcsw;
  own_seconds_ = own_seconds(usage);
}

Disturbance DisturbanceWatch::read() const {
  const ProcessorTimes now = processor_times();
  const rusage usage = own_usage();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin_;
  Disturbance found{.switches = usage.ru_nivcsw - switches_, .seconds = seconds.count()};
  if (now.all <= all_ || found.seconds <= 0) return found;
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  const double busy_seconds = static_cast<double>(now.busy - busy_) / ticks;
  found.steal = static_cast<double>(now.stolen - stolen_) / static_cast<double>(now.all - all_);
  found.processors = static_cast<double>(now.all - all_) / ticks / found.seconds;
  found.others = std::max(0.0, busy_seconds - (own_seconds(usage) - own_seconds_)) / found.seconds;
  return found;
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
