#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/cluster/cluster.hpp"
#include "models/kernels/kernel_rates.hpp"
#include "sim/timeline/timeline.hpp"
#include "tools/tables/memory_limit.hpp"

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

/// What tensors of `peak_bytes` need with all that is held beside them. 0: there is no limit.
MemoryNeed memory_need(std::int64_t peak_bytes, const KernelRates& rates, std::int64_t limit_bytes);

/// "fits with 3 GiB of 80 GiB to spare", "at the edge: ...", "does not fit: ...".
std::string need_text(const MemoryNeed& need);

/// The three largest tensors at the peak of a device, or classes of memory where tensors are not known.
std::string largest_text(const DeviceSummary& device);

/// Of device `device` of `timeline`; the limit is the given one or the device's own memory.
DeviceNeed device_need(const Timeline& timeline, std::size_t device, const KernelRates& rates, const Cluster& pipeline,
                       const MemoryLimit& limit);

/// Notes what every device of `timeline` needs.
void fill_needs(Timeline& timeline, const KernelRates& rates, const Cluster& pipeline, const MemoryLimit& limit);

/// The parts of the fullest device, its largest tensors, and whether it fits.
std::string fit_text(const Timeline& timeline, const KernelRates& rates, const Cluster& pipeline,
                     const MemoryLimit& limit);

/// One line per device that needs more than its limit.
std::vector<std::string> fit_findings(const Timeline& timeline);

}  // namespace plumb
