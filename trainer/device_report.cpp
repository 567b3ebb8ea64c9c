#include "trainer/device_report.hpp"

#include <algorithm>

namespace plumb {

DeviceReport report_of(DeviceWorker& worker) {
  DeviceReport report;
  report.versions = worker.versions_read();
  report.memory = worker.memory();
  report.peak_memory_bytes = worker.arena().peak_bytes();
  report.peak_memory_by_class = worker.arena().at_peak();
  for (auto& [number, holder] : worker.holders()) {
    report.holders[number] = {holder.stored_weights(), holder.last_gradients()};
    report.updates_skipped = std::max(report.updates_skipped, holder.updates_skipped());
    report.updates_rolled_back += holder.updates_rolled_back();
  }
  return report;
}

}  // namespace plumb
