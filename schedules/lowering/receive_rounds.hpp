#pragma once

#include <vector>

#include "schedules/program/program.hpp"

namespace plumb::lowering {

/// Where receives stand when they are posted as their sends are issued, by transfer: PyTorch's lowering, which visits
/// the devices in turn, takes at most one ready action (pair) of each, and appends the receive of what it makes to the
/// receiver's list at that moment. Needs waits and transfers with producer, consumer, issue and channel.
std::vector<InstrIndex> receive_rounds(const Program& program);

}  // namespace plumb::lowering
