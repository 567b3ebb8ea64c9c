#pragma once

#include <cstdint>

#include "models/ground/units.hpp"
#include "schedules/program/instr.hpp"

namespace plumb {

/// An EVICT or LOAD: a copy of a stash, or of the weights of a stage, to another memory or back. It uses the copy lane
/// of its device: a channel from the device to itself, one for each direction, in order of issue. The transfer is
/// issued by the instr of the action, which takes no time.
///
/// If costs come from a network and the link is modelled (`Cluster::host_link`, or the route to the other device), the
/// bytes use that link and share it with everything else on it: messages between the same two devices, copies of
/// devices that share a switch. Otherwise a copy takes the time that the costs give.
///
/// EVICT: the owner waits for the copy (`Transfer::sent`), and frees what was copied, just before the next EVICT of the
/// device, or the LOAD of the same thing, whichever is first. LOAD: memory is allocated at the start of its instr, and
/// the first action that reads it (`Transfer::consumer`) waits for the copy.
struct Move {
  static constexpr DeviceId kHost{-1};

  std::uint32_t transfer = 0;  ///< into `Program::transfers`; its op is kEvict or kLoad
  bool weights = false;        ///< of the stage; otherwise the stash of everything that the action names
  bool input_only = false;     ///< of the stash, only the input: recompute has dropped the rest
  std::int64_t bytes = 0;      ///< 0 when memory is not modelled
  /// The device that keeps what was evicted; `kHost`: the host. Its memory (class evicted) holds the bytes from just
  /// before `held_from` to just before `held_until` of its lane, which follow from the order alone. The memory of the
  /// host is not counted.
  DeviceId guest = kHost;
  InstrIndex held_from = 0;
  InstrIndex held_until = 0;
};

}  // namespace plumb
