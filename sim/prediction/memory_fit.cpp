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
      timeline.devices[d].need =
          MemoryNeed{.limit_bytes = most, .needed_bytes = peak, .least_bytes = peak, .most_bytes = peak};
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

}  // namespace plumb
