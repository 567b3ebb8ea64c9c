#pragma once

#include "tools/terminal/command_line.hpp"

namespace plumb {

/// Actions of `device` that have a source of their own; `arguments` begin with "device" and the action. Their rows are
/// in cmd_device.cpp.
ExitStatus run_device_predict(const CommandLine& arguments);
ExitStatus run_device_fit(const CommandLine& arguments);

}  // namespace plumb
