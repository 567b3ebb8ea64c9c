#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/cluster/cluster.hpp"
#include "models/jobs/kernel_rates.hpp"
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
  std::int64_t limit = 0;   ///< 0: none

  std::int64_t bytes() const;
  bool fits() const { return limit == 0 || bytes() <= limit; }
};

/// Of device `device` of `timeline`; the limit is the given one or the device's own memory.
DeviceNeed device_need(const Timeline& timeline, std::size_t device, const KernelRates& rates, const Cluster& pipeline,
                       const MemoryLimit& limit);

/// The parts of the fullest device, and whether all fit.
std::string fit_text(const Timeline& timeline, const KernelRates& rates, const Cluster& pipeline,
                     const MemoryLimit& limit);

/// One line per device that does not fit.
std::vector<std::string> fit_findings(const Timeline& timeline, const KernelRates& rates, const Cluster& pipeline,
                                      const MemoryLimit& limit);

}  // namespace plumb
