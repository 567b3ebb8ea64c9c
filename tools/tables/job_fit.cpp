#include "tools/tables/job_fit.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "tools/terminal/answer_lines.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

constexpr std::size_t kLargestTensors = 3;

std::size_t fullest_device(const Timeline& timeline) {
  const auto fullest = std::ranges::max_element(timeline.devices, {}, &DeviceSummary::peak_memory_bytes);
  return static_cast<std::size_t>(fullest - timeline.devices.begin());
}

}  // namespace

std::string need_text(const MemoryNeed& need) {
  const std::string range = need.least_bytes < need.most_bytes
                                ? " (" + bytes_text(need.least_bytes) + " to " + bytes_text(need.most_bytes) + ")"
                                : "";
  const std::string needs = "needs " + bytes_text(need.needed_bytes) + range;
  if (need.verdict() == MemoryVerdict::kUnknown) return needs + "; the memory of the device is not known";
  return std::string(verdict_word(need.verdict())) + ": " + needs + " of " + bytes_text(need.limit_bytes);
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

DeviceNeed device_need(const Timeline& timeline, std::size_t device, const KernelRates& rates) {
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
  need.need = summary.need.value_or(memory_need(summary.peak_memory_bytes, rates, 0));
  return need;
}

std::string fit_text(const Timeline& timeline, const KernelRates& rates) {
  const std::size_t fullest = fullest_device(timeline);
  const DeviceNeed need = device_need(timeline, fullest, rates);
  TextTable table({{"memory of device " + std::to_string(fullest)}, {"size", '>'}});
  for (const DeviceNeed::Part& part : need.parts) {
    table.add_row({with_spaces(part.name), bytes_text(part.bytes)});
  }
  table.add_row({"total", bytes_text(need.need.needed_bytes)});
  return table.to_string() + sentence_text("largest: " + largest_text(timeline.devices[fullest])) +
         sentence_text(need_text(need.need));
}

namespace {

/// "does not fit: the peak of 5 stash units is 2 above the limit of 3".
std::string stashes_over_text(double peak, const MemoryLimit& limit) {
  const std::string unit = limit.stash_share == 1 ? " stash units"
                           : limit.per_stage      ? " stashes of one stage"
                                                  : " stashes of 1/p of the model";
  return "does not fit: the peak of " + number_text(peak) + unit + " is " + number_text(peak - *limit.value) +
         " above the limit of " + number_text(*limit.value);
}

}  // namespace

std::vector<std::string> memory_findings(const Timeline& timeline, const MemoryLimit& limit) {
  std::vector<std::string> findings;
  for (std::size_t d = 0; d < timeline.devices.size(); ++d) {
    if (fits(timeline, d, limit)) continue;
    const DeviceSummary& device = timeline.devices[d];
    std::string what;
    if (!device.need) {
      what = stashes_over_text(device.peak_activations * (limit.per_stage ? 1 : limit.stash_share), limit);
    } else {
      what = need_text(*device.need);
    }
    findings.push_back("device " + std::to_string(d) + ": " + what);
  }
  return findings;
}

}  // namespace plumb
