#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/ground/units.hpp"
#include "schedules/document/action.hpp"

// Work without an order: the passes of one microbatch, who waits for whom, and what memory there is. All microbatches
// are alike. Searches find the order of every device.

namespace plumb {

/// One pass of a microbatch, on one device or on several at once.
struct WorkBlock {
  struct Input {
    std::int32_t block = 0;
    Ticks delay = 0;  ///< between that one's end and the start of this one
  };

  std::string name;
  std::vector<std::int32_t> devices;
  Ticks time = 0;
  std::int64_t stash = 0;         ///< what it adds on each device: from its start if more than 0, from its end if less
  std::vector<Input> inputs;      ///< of the same microbatch; blocks that stand before this one
  Action action{};                ///< on its first device, of the first microbatch that it is of
  std::vector<StageId> stages{};  ///< by device, whose pass it is there; empty: that of the action

  /// Whose pass it is on one of its devices.
  StageId stage_on(std::int32_t device) const;
};

/// A block and its microbatch.
struct BlockRun {
  std::int32_t block = 0;
  std::int64_t microbatch = 0;

  friend bool operator==(const BlockRun&, const BlockRun&) = default;
};

/// m microbatches of the same blocks, on devices with limits. Where devices share a stage and take its microbatches in
/// turn, blocks are those of the `together` microbatches after which the turns come again, and what is called a
/// microbatch of the problem stands for so many.
struct BlockProblem {
  std::int32_t num_devices = 0;
  std::int64_t together = 1;
  std::vector<WorkBlock> blocks;
  std::vector<std::int64_t> limits;  ///< of the stashes of every device

  /// Where a part of the order is given: by block, then microbatch (of `microbatches`), what must have been done before
  /// on its devices. Empty: no order is given.
  std::vector<std::vector<BlockRun>> after = {};
  std::int64_t microbatches = 0;

  std::int32_t size() const { return static_cast<std::int32_t>(blocks.size()); }
  const WorkBlock& block(std::int32_t b) const { return blocks[static_cast<std::size_t>(b)]; }
};

/// The blocks of every device, by number.
std::vector<std::vector<std::int32_t>> blocks_by_device(const BlockProblem& problem);

/// By block: the longest chain of times and delays before its start; after its end.
std::vector<Ticks> heads_of(const BlockProblem& problem);
std::vector<Ticks> tails_of(const BlockProblem& problem);

/// Of all blocks of a device for one microbatch.
std::vector<Ticks> work_of(const BlockProblem& problem);

/// The longest chain of one microbatch.
Ticks longest_chain(const BlockProblem& problem);

/// The largest number that divides all times and delays: starts and ends of a shortest order are multiples of it.
Ticks time_grid(const BlockProblem& problem);

/// Throws `Error("<where>: ...")` for blocks without a device, inputs that do not stand before them, stashes that do
/// not add up to 0 on a device, and devices that cannot hold even one microbatch.
void check_blocks(const BlockProblem& problem, const std::string& where);

}  // namespace plumb
