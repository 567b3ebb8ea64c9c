#pragma once

#include <string>

#include "models/jobs/parallelism.hpp"
#include "models/network/network.hpp"

namespace plumb {

/// Returns what has to be timed to know the kernels of `network` on one device, spread as `parallelism` says: the
/// document "plumbline-kernels" (tools/devices/MEASUREMENTS.md), which tools/examples/pytorch/measure_device.py runs.
/// Every shape of a product and of attention once for each pass, the kernels that move bytes with the bytes that the
/// cost model counts for them, the optimizer, a copy; and the network itself where PyTorch's standard modules make it.
/// Throws `Error` for what cannot be divided.
std::string kernel_list_json(const Network& network, const Parallelism& parallelism);

}  // namespace plumb
