#pragma once

#include <cstdint>

#include "models/cluster/cluster.hpp"
#include "models/ground/units.hpp"
#include "schedules/program/instr.hpp"

namespace plumb {

/// One message between devices. Positions refer to compute lanes, so that buffers live by order, not by time.
struct Transfer {
  InstrIndex producer = 0;    ///< its end makes the value
  InstrIndex consumer = 0;    ///< it waits for the value
  InstrIndex issue = 0;       ///< the send is issued at the end of this instr of the sender (>= producer)
  InstrIndex post = 0;        ///< the receive is posted just before this instr of the receiver (<= consumer)
  InstrIndex sent = 0;        ///< the sender waits for the send just before this instr; the lane's end when equal to
                              ///< `Program::lane_begin[sender + 1]`
  std::uint32_t channel = 0;  ///< into `Program::channels`
  std::int64_t bytes = 0;     ///< of a move whose time is given: its ticks
};

static_assert(sizeof(Transfer) == 32, "a program holds one for almost every action");

/// A pair of devices in one direction. Messages of a channel are issued and posted in the same order, which is
/// their order in `Program::transfers`.
struct Channel {
  DeviceId from{};
  DeviceId to{};
  Route route;
};

}  // namespace plumb
