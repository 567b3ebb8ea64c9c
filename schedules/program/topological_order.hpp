#pragma once

#include <vector>

#include "schedules/program/program.hpp"

namespace plumb {

/// An order of all instrs in which everything an instr waits for comes first: devices in turn, each as far as it gets.
/// Shorter than the program when it deadlocks: then it ends where all devices stand still (`run_order` throws instead).
std::vector<InstrIndex> topological_order(const Program& program);

}  // namespace plumb
