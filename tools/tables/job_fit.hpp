#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/kernels/kernel_rates.hpp"
#include "sim/prediction/memory_fit.hpp"
#include "sim/timeline/timeline.hpp"

namespace plumb {

/// Bytes that a device of a job needs, by part: what the simulator counts at its peak, and what is needed in addition
/// to tensors.
struct DeviceNeed {
  struct Part {
    std::string_view name;
    std::int64_t bytes = 0;
  };

  std::vector<Part> parts;  ///< memory classes that are used, context, library, allocator
  MemoryNeed need{};        ///< their sum
};

/// "tight: needs 70 GiB (64 to 82 GiB) of 79 GiB": the verdict, what is expected, within the error that was measured.
std::string need_text(const MemoryNeed& need);

/// The three largest tensors at the peak of a device, or classes of memory where tensors are not known.
std::string largest_text(const DeviceSummary& device);

/// Of device `device` of `timeline`, a job whose needs are noted (`fill_memory`).
DeviceNeed device_need(const Timeline& timeline, std::size_t device, const KernelRates& rates);

/// The parts of the fullest device, its largest tensors, and whether it fits.
std::string fit_text(const Timeline& timeline, const KernelRates& rates);

/// One line per device that needs more than its limit: "device 0: does not fit: ...". Of a run whose memory is noted
/// (`fill_memory`).
std::vector<std::string> memory_findings(const Timeline& timeline, const MemoryLimit& limit);

}  // namespace plumb
