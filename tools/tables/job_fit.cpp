#include "tools/tables/job_fit.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "models/jobs/job_memory.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

constexpr std::size_t kLargestTensors = 3;

std::int64_t limit_of(std::size_t device, const Cluster& pipeline, const MemoryLimit& limit) {
  return limit.value ? std::llround(*limit.value) : pipeline.devices[device].memory_bytes;
}

std::size_t fullest_device(const Timeline& timeline) {
  const auto fullest = std::ranges::max_element(timeline.devices, {}, &DeviceSummary::peak_memory_bytes);
  return static_cast<std::size_t>(fullest - timeline.devices.begin());
}

}  // namespace

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

std::string need_text(const MemoryNeed& need) {
  const std::int64_t apart = std::abs(need.limit_bytes - need.needed_bytes);
  const std::string of =
      bytes_text(apart) + (need.fits() ? " below" : " above") + " the limit of " + bytes_text(need.limit_bytes);
  switch (need.verdict()) {
    case MemoryVerdict::kUnknown:
      return "the memory of the device is not known";
    case MemoryVerdict::kFits:
      return "fits with " + bytes_text(apart) + " of " + bytes_text(need.limit_bytes) + " to spare";
    case MemoryVerdict::kAtEdge:
      return "at the edge: " + of + "; within the error that was measured it needs " + bytes_text(need.least_bytes) +
             " to " + bytes_text(need.most_bytes);
    default:
      return "does not fit: " + of;
  }
}

std::string largest_text(const DeviceSummary& device) {
  std::vector<std::pair<std::int64_t, std::string>> largest;
  for (const PeakTensor& tensor : device.peak_tensors) {
    const auto copies = std::max<std::int64_t>(1, static_cast<std::int64_t>(tensor.microbatches.size()));
    const std::string of = copies > 1 ? " of " + std::to_string(copies) + " microbatches" : "";
    largest.emplace_back(tensor.bytes * copies, with_spaces(tensor.name) + of);
  }
  if (largest.empty()) {
    for (std::size_t cls = 0; cls < kMemoryClassCount; ++cls) {
      largest.emplace_back(device.peak_memory_by_class[cls], with_spaces(kMemoryClassNames[cls]));
    }
  }
  std::ranges::stable_sort(largest, std::greater<>(), &std::pair<std::int64_t, std::string>::first);
  largest.resize(std::min(largest.size(), kLargestTensors));
  std::string text;
  for (const auto& [bytes, name] : largest) text += (text.empty() ? "" : ", ") + name + " " + bytes_text(bytes);
  return text;
}

DeviceNeed device_need(const Timeline& timeline, std::size_t device, const KernelRates& rates, const Cluster& pipeline,
                       const MemoryLimit& limit) {
  const DeviceSummary& summary = timeline.devices[device];
  DeviceNeed need;
  for (std::size_t cls = 0; cls < kMemoryClassCount; ++cls) {
    if (summary.peak_memory_by_class[cls] != 0) {
      need.parts.push_back({kMemoryClassNames[cls], summary.peak_memory_by_class[cls]});
    }
  }
  const double reserve = rates.memory_reserve * static_cast<double>(summary.peak_memory_bytes);
  need.parts.push_back({"allocator headroom", std::llround(reserve)});
  need.parts.push_back({"device context", rates.context_bytes});
  need.parts.push_back({"library workspace", rates.library_bytes});
  need.need = memory_need(summary.peak_memory_bytes, rates, limit_of(device, pipeline, limit));
  return need;
}

void fill_needs(Timeline& timeline, const KernelRates& rates, const Cluster& pipeline, const MemoryLimit& limit) {
  for (std::size_t d = 0; d < timeline.devices.size(); ++d) {
    DeviceSummary& device = timeline.devices[d];
    device.need = memory_need(device.peak_memory_bytes, rates, limit_of(d, pipeline, limit));
  }
}

std::string fit_text(const Timeline& timeline, const KernelRates& rates, const Cluster& pipeline,
                     const MemoryLimit& limit) {
  const std::size_t fullest = fullest_device(timeline);
  const DeviceNeed need = device_need(timeline, fullest, rates, pipeline, limit);
  TextTable table({{"memory of device " + std::to_string(fullest)}, {"size", '>'}});
  for (const DeviceNeed::Part& part : need.parts) {
    table.add_row({with_spaces(part.name), bytes_text(part.bytes)});
  }
  table.add_row({"total", bytes_text(need.need.needed_bytes)});
  return table.to_string() + "largest: " + largest_text(timeline.devices[fullest]) + "\n" + need_text(need.need) + "\n";
}

std::vector<std::string> fit_findings(const Timeline& timeline) {
  std::vector<std::string> findings;
  for (std::size_t d = 0; d < timeline.devices.size(); ++d) {
    const std::optional<MemoryNeed>& need = timeline.devices[d].need;
    if (need && !need->fits()) findings.push_back("device " + std::to_string(d) + ": " + need_text(*need));
  }
  return findings;
}

}  // namespace plumb
