#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "models/costs/memory_class.hpp"
#include "sim/rules/run_times.hpp"
#include "sim/timeline/timeline.hpp"
#include "trainer/device/device_worker.hpp"
#include "trainer/plan/train_result.hpp"
#include "trainer/processes/process_group.hpp"

namespace plumb {

/// A stage on a device at the end of a run, as views of its bytes.
struct HolderReport {
  std::span<const std::byte> weights;    ///< the newest
  std::span<const std::byte> gradients;  ///< as the last update used them; empty unless parameters are kept
  std::span<const std::byte> frozen;     ///< weights that no update changes; those of the stage's first copy here
};

/// What one device reports of a run besides losses: plain data, wherever the device was. Versions, times and
/// memory are those of the last run of the document.
struct DeviceReport {
  DeviceId device{};
  std::vector<VersionRead> versions;    ///< in order
  std::vector<Ticks> start;             ///< by instr of its lane
  std::vector<Ticks> end;               ///< by instr of its lane
  std::vector<TransferTimes> received;  ///< messages to the device, and its moves, in order of their numbers
  std::vector<Ticks> sent;              ///< when messages of the device began, in order; 0: not known here
  std::vector<Ticks> collective_ends;   ///< by collective; -1: not known here
  std::vector<MemoryPoint> memory;
  std::int64_t peak_memory_bytes = 0;
  MemoryByClass peak_memory_by_class{};
  std::map<std::uint32_t, HolderReport> holders;  ///< by number
  std::int64_t updates_skipped = 0;               ///< the most of a holder
  std::int64_t updates_rolled_back = 0;           ///< updates of all holders that were rolled back
};

/// The report is valid until the run continues. `times` must have at least what the worker has written.
DeviceReport report_of(DeviceWorker& worker, const Program& program, const RunTimes& times,
                       std::span<const Ticks> collective_ends);

/// Returns the times of all devices together. A message that both ends have seen begin begins when both are ready.
/// Where devices saw a collective end at different times, the first counts, so that no device continues before the end.
RunTimes run_times(const Program& program, std::span<const DeviceReport> reports);

/// The reports of all devices at the first process.
struct GatheredReports {
  std::vector<DeviceReport> reports;       ///< by device; empty in the other processes
  std::vector<ProcessGroup::Bytes> bytes;  ///< which they are views of
};
GatheredReports gather_reports(ProcessGroup& group, const DeviceReport& own);

}  // namespace plumb
