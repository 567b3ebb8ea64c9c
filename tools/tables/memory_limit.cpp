#include "tools/tables/memory_limit.hpp"

#include "tools/terminal/quantity_text.hpp"

namespace plumb {
namespace {

std::string finding(std::size_t device, const std::string& peak, const std::string& above, const std::string& limit) {
  return "device " + std::to_string(device) + ": does not fit: the peak of " + peak + " is " + above +
         " above the limit of " + limit;
}

/// Bytes that device `d` may hold; 0: not known.
std::int64_t most_bytes(std::size_t d, const MemoryLimit& limit, const Cluster* cluster) {
  const std::int64_t own = cluster != nullptr && d < cluster->devices.size() ? cluster->devices[d].memory_bytes : 0;
  return limit.value ? static_cast<std::int64_t>(*limit.value) : own;
}

}  // namespace

void fill_limits(Timeline& timeline, const MemoryLimit& limit, const Cluster* cluster) {
  if (!limit.in_bytes) {
    timeline.stashes.share = limit.stash_share;
    if (limit.value) timeline.stashes.limit = *limit.value * (limit.per_device ? 1 : limit.stash_share);
    return;
  }
  for (std::size_t d = 0; d < timeline.devices.size(); ++d) {
    const std::int64_t most = most_bytes(d, limit, cluster);
    const std::int64_t peak = timeline.devices[d].peak_memory_bytes;
    if (most == 0) continue;
    timeline.devices[d].need =
        MemoryNeed{.limit_bytes = most, .needed_bytes = peak, .least_bytes = peak, .most_bytes = peak};
  }
}

std::vector<std::string> memory_findings(const Timeline& timeline, const MemoryLimit& limit, const Cluster* cluster) {
  std::vector<std::string> findings;
  for (std::size_t d = 0; d < timeline.devices.size(); ++d) {
    if (!limit.in_bytes) {
      const double peak = timeline.devices[d].peak_activations * (limit.per_device ? limit.stash_share : 1);
      if (!limit.value || peak <= *limit.value) continue;
      const std::string unit = limit.per_device ? " stashes of 1/p of the model" : " stash units";
      findings.push_back(
          finding(d, number_text(peak) + unit, number_text(peak - *limit.value), number_text(*limit.value)));
      continue;
    }
    const std::int64_t most = most_bytes(d, limit, cluster);
    const std::int64_t peak = timeline.devices[d].peak_memory_bytes;
    if (peak <= most || (most == 0 && !limit.value)) continue;
    findings.push_back(finding(d, bytes_text(peak), bytes_text(peak - most), bytes_text(most)));
  }
  return findings;
}

}  // namespace plumb
