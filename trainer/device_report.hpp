#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "models/memory_class.hpp"
#include "sim/timeline.hpp"
#include "trainer/device_worker.hpp"
#include "trainer/train.hpp"

namespace plumb {

/// A stage on a device at the end of a run, as views of its bytes.
struct HolderReport {
  std::span<const std::byte> weights;    ///< the newest
  std::span<const std::byte> gradients;  ///< as the last update used them; empty unless parameters are kept
};

/// What one device leaves behind of a run besides times and losses: plain data, wherever the device was.
struct DeviceReport {
  std::vector<VersionRead> versions;  ///< in order, of the last run of the document
  std::vector<MemoryPoint> memory;
  std::int64_t peak_memory_bytes = 0;
  MemoryByClass peak_memory_by_class{};
  std::map<std::uint32_t, HolderReport> holders;  ///< by number
  std::int64_t updates_skipped = 0;               ///< the most of a holder
  std::int64_t updates_rolled_back = 0;           ///< of all holders
};

/// Valid until the run goes on.
DeviceReport report_of(DeviceWorker& worker);

}  // namespace plumb
