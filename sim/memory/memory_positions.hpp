#pragma once

#include <vector>

#include "schedules/program/program.hpp"
#include "sim/memory/memory_plan.hpp"
#include "sim/rules/index_lists.hpp"

namespace plumb {

/// Where to find what belongs to a device, and what its instrs do to memory; made once per Program.
struct MemoryPositions {
  explicit MemoryPositions(const Program& program);

  const Program* program;
  IndexLists by_channel;       ///< transfers in order of index
  IndexLists channels_from;    ///< channels by sending device
  IndexLists channels_to;      ///< channels by receiving device
  IndexLists versions;         ///< kept versions by device
  IndexLists guests;           ///< moves by the device that holds them meanwhile; behind the last device: none does
  std::vector<RowPlan> plans;  ///< by row; empty when memory is not modelled
  /// By instr: another device gets its value by an edge that is no transfer. Empty when transfers exist.
  std::vector<bool> leaves_without_transfer;
};

/// What touches the lane of one device, by position in it: `of(i - begin)`, up to the lane's end.
struct LanePositions {
  LanePositions(const MemoryPositions& positions, DeviceId device);

  InstrIndex begin = 0;
  InstrIndex end = 0;
  IndexLists made;      ///< transfers by producer
  IndexLists sent;      ///< transfers by `sent`
  IndexLists posted;    ///< transfers by `post`
  IndexLists replaced;  ///< kept versions by `replaced_by`
  IndexLists read;      ///< kept versions by `last_reader`
  IndexLists held;      ///< moves by `held_from`, of which this device is the guest
  IndexLists released;  ///< and by `held_until`
};

/// Whether the instr's input comes from another device by an edge that is no transfer.
bool comes_without_transfer(const MemoryPositions& positions, InstrIndex instr);

}  // namespace plumb
