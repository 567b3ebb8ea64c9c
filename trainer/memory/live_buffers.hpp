#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "models/ground/units.hpp"
#include "schedules/program/program.hpp"
#include "trainer/memory/arena.hpp"
#include "trainer/memory/stage_stash.hpp"

namespace plumb {

/// Names the stash of a part of a microbatch on a device.
struct StashKey {
  std::uint32_t holder = 0;
  std::int32_t microbatch = 0;  ///< microbatch of the document
  std::int16_t slice = 0;
  bool teacher = false;  ///< whether its teacher works on it, within one X

  friend auto operator<=>(const StashKey&, const StashKey&) = default;
};

/// A value handed over on the device, by what consumes it. What the teacher of the last stage made, for the F of that
/// stage, is one for X of a stage behind it.
struct ValueKey {
  Op op{};
  StageId stage{};
  MicrobatchId microbatch{};
  std::int16_t slice = 0;

  friend auto operator<=>(const ValueKey&, const ValueKey&) = default;
};

/// Returns what the teacher makes of the part on the last stage.
inline ValueKey teacher_value(const Program& program, const StashKey& of) {
  return {Op::kX, StageId{program.num_stages}, MicrobatchId{of.microbatch}, of.slice};
}

/// Returns whether the instr is the one that takes the value.
bool takes_value(const Program& program, InstrIndex at, const ValueKey& key);

using EvictedBlocks = std::map<StageBlock, std::vector<std::byte>>;

/// What is alive on a device between two instrs besides its holders.
struct LiveBuffers {
  std::map<StashKey, StageStash> stashes;
  std::map<ValueKey, Block> values;
  std::map<std::uint32_t, std::vector<Block>> send_buffers;  ///< by transfer: made, and the send not waited for
  std::map<std::uint32_t, std::vector<Block>> slots;         ///< by transfer: posted, and not taken over
  std::map<StashKey, EvictedBlocks> evicted;                 ///< what was copied to another memory
  std::map<std::uint32_t, Block> remote_stashes;             ///< by move: stashes of other devices that this one stores
};

}  // namespace plumb
