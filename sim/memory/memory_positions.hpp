#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedules/program/index_lists.hpp"
#include "schedules/program/program.hpp"
#include "sim/memory/memory_plan.hpp"

namespace plumb {

/// The transfers, kept versions and moves of every device, and what instrs do to memory; made once per Program.
struct MemoryPositions {
  explicit MemoryPositions(const Program& program);

  const Program* program;
  IndexLists by_channel;     ///< transfers by channel
  IndexLists channels_from;  ///< channels by sending device
  IndexLists channels_to;    ///< channels by receiving device
  IndexLists versions;       ///< kept versions by device
  IndexLists guests;  ///< moves by the device that holds them meanwhile; the key after the last device: no device does
  std::vector<RowPlan> plans;  ///< by row; empty when memory is not modelled
  /// By instr: another device gets its value by an edge that is no transfer. Empty when transfers exist.
  std::vector<bool> leaves_without_transfer;
};

/// What touches the lane of one device. Its transfers are listed for this lane alone, not by a `ProgramIndex`: lists
/// for the whole program would stand beside the memory curve, when a simulation needs the most bytes.
class LanePositions {
 public:
  LanePositions(const MemoryPositions& positions, DeviceId device);

  /// Transfers that `i` makes; whose senders wait for them before `i`; whose receives are posted before `i`. `i` may be
  /// the lane's end.
  std::span<const std::uint32_t> made(InstrIndex i) const { return made_.of(i - begin); }
  std::span<const std::uint32_t> sent(InstrIndex i) const { return sent_.of(i - begin); }
  std::span<const std::uint32_t> posted(InstrIndex i) const { return posted_.of(i - begin); }

  InstrIndex begin = 0;
  InstrIndex end = 0;
  // By position in the lane: `of(i - begin)`, up to the lane's end.
  IndexLists replaced;  ///< kept versions by `replaced_by`
  IndexLists read;      ///< kept versions by `last_reader`
  IndexLists held;      ///< moves by `held_from`, of which this device is the guest
  IndexLists released;  ///< and by `held_until`

 private:
  IndexLists made_;
  IndexLists sent_;
  IndexLists posted_;
};

/// Whether the instr's input comes from another device by an edge that is no transfer.
bool comes_without_transfer(const MemoryPositions& positions, InstrIndex instr);

}  // namespace plumb
