#include "sim/prediction/memory_fit.hpp"

#include <algorithm>
#include <cmath>

#include "models/jobs/job_memory.hpp"

namespace plumb {

MemoryNeed memory_need(std::int64_t peak_bytes, const KernelRates& rates, std::int64_t limit_bytes) {
  const auto share_of_peak = [&](double share) {
    return static_cast<std::int64_t>(std::llround(static_cast<double>(peak_bytes) * share));
  };
  const std::int64_t beside = rates.context_bytes + rates.library_bytes;
  MemoryNeed need{.limit_bytes = limit_bytes};
  need.needed_bytes = peak_bytes + share_of_peak(rates.memory_reserve) + beside;
  need.least_bytes = std::min(need.needed_bytes, share_of_peak((1 - kPeakError) * (1 + kLeastHeld)) + beside);
  need.most_bytes = std::max(need.needed_bytes, share_of_peak((1 + kPeakError) * (1 + kMostHeld)) + beside);
  return need;
}

MemoryNeed exact_need(std::int64_t peak_bytes, std::int64_t limit_bytes) {
  return {.limit_bytes = limit_bytes, .needed_bytes = peak_bytes, .least_bytes = peak_bytes, .most_bytes = peak_bytes};
}

std::int64_t largest_peak(std::int64_t limit_bytes, const KernelRates& rates, FitMargin margin) {
  if (limit_bytes == 0) return 0;
  const auto within = [&](std::int64_t peak) {
    const MemoryNeed need = memory_need(peak, rates, limit_bytes);
    return (margin == FitMargin::kError ? need.most_bytes : need.needed_bytes) <= limit_bytes;
  };
  const double error = margin == FitMargin::kError ? (1 + kPeakError) * (1 + kMostHeld) : 1;
  const auto room = static_cast<double>(limit_bytes - rates.context_bytes - rates.library_bytes);
  auto peak = std::max<std::int64_t>(1, std::llround(room / std::max(error, 1 + rates.memory_reserve)));
  while (within(peak + 1)) ++peak;
  while (peak > 1 && !within(peak)) --peak;
  return peak;
}

std::int64_t limit_bytes(std::size_t device, const PricedPipeline& priced, const MemoryLimit& limit) {
  if (limit.value) return static_cast<std::int64_t>(std::llround(*limit.value));
  return priced.cluster && device < priced.cluster->devices.size() ? priced.cluster->devices[device].memory_bytes : 0;
}

void fill_memory(Timeline& timeline, const PricedPipeline& priced, const MemoryLimit& limit) {
  if (!limit.in_bytes && !priced.rates) {
    timeline.stashes.share = limit.stash_share;
    if (limit.value) timeline.stashes.limit = *limit.value * (limit.per_stage ? limit.stash_share : 1);
    return;
  }
  for (std::size_t d = 0; d < timeline.devices.size(); ++d) {
    const std::int64_t most = limit_bytes(d, priced, limit);
    const std::int64_t peak = timeline.devices[d].peak_memory_bytes;
    if (priced.rates) {
      timeline.devices[d].need = memory_need(peak, *priced.rates, most);
    } else if (most > 0 || limit.value) {
      timeline.devices[d].need = exact_need(peak, most);
    }
  }
}

bool fits(const Timeline& timeline, std::size_t device, const MemoryLimit& limit) {
  const DeviceSummary& summary = timeline.devices[device];
  if (summary.need) return summary.need->fits();
  if (limit.in_bytes || !limit.value) return true;
  return summary.peak_activations * (limit.per_stage ? 1 : limit.stash_share) <= *limit.value;
}

bool fits(const Timeline& timeline, const MemoryLimit& limit) {
  for (std::size_t d = 0; d < timeline.devices.size(); ++d) {
    if (!fits(timeline, d, limit)) return false;
  }
  return true;
}

MemoryVerdict memory_verdict(const Timeline& timeline, const MemoryLimit& limit) {
  MemoryVerdict worst = MemoryVerdict::kUnknown;
  for (std::size_t d = 0; d < timeline.devices.size(); ++d) {
    const std::optional<MemoryNeed>& need = timeline.devices[d].need;
    MemoryVerdict verdict = need ? need->verdict() : MemoryVerdict::kUnknown;
    if (!need && limit.value) verdict = fits(timeline, d, limit) ? MemoryVerdict::kFits : MemoryVerdict::kExceeds;
    worst = std::max(worst, verdict);
  }
  return worst;
}

std::int64_t most_needed(const Timeline& timeline) {
  std::int64_t most = 0;
  for (const DeviceSummary& device : timeline.devices) {
    if (device.need) most = std::max(most, device.need->needed_bytes);
  }
  return most;
}

}  // namespace plumb
