#pragma once

#include <vector>

#include "schedules/program/program.hpp"

namespace plumb {

/// An order of all instrs in which everything an instr waits for comes first: devices in turn, each as far as it gets.
/// The serial executor runs it. A program that deadlocks is a bug here, since `validate` reports deadlocks first.
std::vector<InstrIndex> topological_order(const Program& program);

}  // namespace plumb
