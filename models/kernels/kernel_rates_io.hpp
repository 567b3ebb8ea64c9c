#pragma once

#include <string>
#include <string_view>

#include "models/kernels/kernel_rates.hpp"

namespace plumb {

/// Reads and writes the document "plumbline-device" (models/jobs/JOBS.md). Version 1, which had one share for all
/// attention, one for all memory and one for all links, is read, too; its `pass_ns` counts no more, since a pass costs
/// nothing beyond its launches. Throws `Error`.
KernelRates kernel_rates_from_json(std::string_view text, std::string_view file_name);
std::string kernel_rates_to_json(const KernelRates& rates);

/// Returns the built-in rates of the type whose name `device.name` begins with; if there are none, rates made of the
/// efficiencies of the device itself.
KernelRates kernel_rates_of(const DeviceSpec& device);

}  // namespace plumb
