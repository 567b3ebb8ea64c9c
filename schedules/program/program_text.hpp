#pragma once

#include <string>

#include "schedules/program/program.hpp"

namespace plumb {

/// A program for people: a line per device, then a line per transfer, collective and kept version.
///
///     d0: 0F0 0B0{1B0} 0U0
///     d1: 1F0{0F0} 1B0 1U0
///     d0>d1 SEND_F 0F0 -> 1F0, issued 0F0, posted 1F0, sent end, 8 bytes
///
/// `{...}` is what an instr waits for; `[v2]` the version of the weights it reads.
std::string program_to_text(const Program& program);

}  // namespace plumb
