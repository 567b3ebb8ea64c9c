#pragma once

#include <string>

#include "schedules/program/program.hpp"
#include "sim/rules/sim_options.hpp"

namespace plumb {

/// Why the lanes of `program` come to a standstill in this transfer mode, as one line that names the cycle:
///
///     transfers blocking: deadlock: 0F1 on device 0 waits for the message of 0F0 from device 0 to device 1, whose
///     receive is not posted before 1F0; 1F0 on device 1 waits for ...
///
/// Empty when they do not. Times do not matter; only what waits for what does.
std::string describe_deadlock(const Program& program, TransferMode mode);

}  // namespace plumb
