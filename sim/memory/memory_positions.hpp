#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedules/program/index_lists.hpp"
#include "schedules/program/program.hpp"
#include "schedules/program/program_index.hpp"
#include "sim/memory/memory_plan.hpp"

namespace plumb {

/// The transfers, kept versions and moves of every device, and what instrs do to memory; made once per Program.
struct MemoryPositions {
  explicit MemoryPositions(const ProgramIndex& indexed);

  const ProgramIndex* indexed;
  const Program* program;
  IndexLists versions;  ///< kept versions by device
  IndexLists guests;  ///< moves by the device that holds them meanwhile; the key after the last device: no device does
  std::vector<RowPlan> plans;  ///< by row; empty when memory is not modelled
  /// By instr: another device gets its value by an edge that is no transfer. Empty when transfers exist.
  std::vector<bool> leaves_without_transfer;
};

/// What touches the lane of one device.
class LanePositions {
 public:
  LanePositions(const MemoryPositions& positions, DeviceId device);

  /// Transfers that `i` makes; whose senders wait for them before `i`; whose receives are posted before `i`. `i` may be
  /// the lane's end.
  std::span<const std::uint32_t> made(InstrIndex i) const { return at(made_, i == end ? lane_end_ : i); }
  std::span<const std::uint32_t> sent(InstrIndex i) const { return at(sent_, i == end ? lane_end_ : i); }
  std::span<const std::uint32_t> posted(InstrIndex i) const { return at(posted_, i == end ? lane_end_ : i); }

  InstrIndex begin = 0;
  InstrIndex end = 0;
  // By position in the lane: `of(i - begin)`, up to the lane's end.
  IndexLists replaced;  ///< kept versions by `replaced_by`
  IndexLists read;      ///< kept versions by `last_reader`
  IndexLists held;      ///< moves by `held_from`, of which this device is the guest
  IndexLists released;  ///< and by `held_until`

 private:
  static std::span<const std::uint32_t> at(const IndexLists* lists, std::size_t key) {
    return lists == nullptr ? std::span<const std::uint32_t>() : lists->of(key);
  }

  const IndexLists* made_ = nullptr;  ///< these are null where the program has no transfers
  const IndexLists* sent_ = nullptr;
  const IndexLists* posted_ = nullptr;
  std::size_t lane_end_ = 0;
};

/// Whether the instr's input comes from another device by an edge that is no transfer.
bool comes_without_transfer(const MemoryPositions& positions, InstrIndex instr);

}  // namespace plumb
