#include "tools/tables/job_fit.hpp"

#include <cmath>

#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

std::string verdict(const DeviceNeed& need) {
  if (need.limit == 0) return "the memory of the device is not known";
  const std::int64_t apart = need.limit - need.bytes();
  return need.fits() ? "fits: " + bytes_text(apart) + " of " + bytes_text(need.limit) + " are free"
                     : "does not fit: " + bytes_text(-apart) + " above the limit of " + bytes_text(need.limit);
}

}  // namespace

std::int64_t DeviceNeed::bytes() const {
  std::int64_t sum = 0;
  for (const Part& part : parts) sum += part.bytes;
  return sum;
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
  need.limit = limit.value ? std::llround(*limit.value) : pipeline.devices[device].memory_bytes;
  return need;
}

std::string fit_text(const Timeline& timeline, const KernelRates& rates, const Cluster& pipeline,
                     const MemoryLimit& limit) {
  std::size_t fullest = 0;
  for (std::size_t d = 1; d < timeline.devices.size(); ++d) {
    if (timeline.devices[d].peak_memory_bytes > timeline.devices[fullest].peak_memory_bytes) fullest = d;
  }
  const DeviceNeed need = device_need(timeline, fullest, rates, pipeline, limit);
  TextTable table({{"memory of device " + std::to_string(fullest)}, {"size", '>'}});
  for (const DeviceNeed::Part& part : need.parts) {
    table.add_row({with_spaces(part.name), bytes_text(part.bytes)});
  }
  table.add_row({"total", bytes_text(need.bytes())});
  return table.to_string() + verdict(need) + "\n";
}

std::vector<std::string> fit_findings(const Timeline& timeline, const KernelRates& rates, const Cluster& pipeline,
                                      const MemoryLimit& limit) {
  std::vector<std::string> findings;
  for (std::size_t d = 0; d < timeline.devices.size(); ++d) {
    const DeviceNeed need = device_need(timeline, d, rates, pipeline, limit);
    if (!need.fits()) findings.push_back("device " + std::to_string(d) + ": " + verdict(need));
  }
  return findings;
}

}  // namespace plumb
