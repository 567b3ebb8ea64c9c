#pragma once

#include <string_view>

namespace plumb {

/// The text of tools/examples/pytorch/measure_device.py, part of the program so that it can measure wherever it is
/// installed.
extern const std::string_view kDeviceScript;

}  // namespace plumb
