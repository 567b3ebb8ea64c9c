#pragma once

#include "tools/terminal/command_line.hpp"

namespace plumb {

/// The actions of `device`; `arguments` begin with "device" and the action. Adding one: its declaration here, its row
/// in cmd_device.cpp, its source `cmd_device_<name>.cpp`.
ExitStatus run_device_measure(const CommandLine& arguments);
ExitStatus run_device_import(const CommandLine& arguments);
ExitStatus run_device_predict(const CommandLine& arguments);
ExitStatus run_device_fit(const CommandLine& arguments);

}  // namespace plumb
