#pragma once

#include <cstdint>
#include <vector>

#include "schedules/program/program.hpp"

namespace plumb {

/// Returns the smallest consistent cut of the lanes that has the first `updates` updates of every holder before it: a
/// position per device, between units, so that nothing before the cut waits for anything after it. Stopping all devices
/// there drains nothing: what is in flight across the cut (messages, stashes, old versions) belongs to the checkpoint.
std::vector<InstrIndex> checkpoint_cut(const Program& program, std::int64_t updates);

}  // namespace plumb
