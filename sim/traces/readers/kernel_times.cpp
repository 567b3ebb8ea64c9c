#include "sim/traces/readers/kernel_times.hpp"

#include <algorithm>

namespace plumb {
namespace {

void add_kernel(std::map<std::int64_t, TimeExtent>& kernels, const TraceRange& kernel) {
  const auto [entry, is_new] = kernels.emplace(kernel.correlation, TimeExtent{kernel.start_ns, kernel.end_ns});
  if (!is_new) entry->second.add(kernel.start_ns, kernel.end_ns);
}

}  // namespace

KernelTimes::KernelTimes(std::span<const TraceRange> ranges) {
  for (const TraceRange& range : ranges) {
    if (range.correlation < 0) continue;
    if (range.kind == RangeKind::kLaunch) launches_.push_back({range.start_ns, range.correlation});
    if (range.kind == RangeKind::kKernel) add_kernel(work_, range);
    if (range.kind == RangeKind::kMessageKernel) add_kernel(messages_, range);
  }
  std::ranges::sort(launches_, {}, &Launch::at_ns);
}

std::optional<TimeExtent> KernelTimes::launched(const ByCorrelation& kernels, std::int64_t begin_ns,
                                                std::int64_t end_ns) const {
  std::optional<TimeExtent> extent;
  auto launch = std::ranges::lower_bound(launches_, begin_ns, {}, &Launch::at_ns);
  for (; launch != launches_.end() && launch->at_ns < end_ns; ++launch) {
    const auto kernel = kernels.find(launch->correlation);
    if (kernel == kernels.end()) continue;
    if (!extent) extent = kernel->second;
    extent->add(kernel->second.start_ns, kernel->second.end_ns);
  }
  return extent;
}

std::optional<TimeExtent> KernelTimes::work(std::int64_t begin_ns, std::int64_t end_ns) const {
  return launched(work_, begin_ns, end_ns);
}

std::optional<TimeExtent> KernelTimes::messages(std::int64_t begin_ns, std::int64_t end_ns) const {
  return launched(messages_, begin_ns, end_ns);
}

}  // namespace plumb
