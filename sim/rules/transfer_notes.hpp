#pragma once

#include <cstdint>
#include <vector>

#include "schedules/program/program.hpp"
#include "sim/rules/transfer_semantics.hpp"

namespace plumb {

/// A message that is offered, posted or waited for at a place of a lane.
struct TransferNote {
  static constexpr std::uint32_t kBatchBit = 0x80000000U;  ///< in `channel` of a post: it belongs to a batch

  InstrIndex at = 0;
  std::uint32_t transfer = 0;
  std::uint32_t channel = 0;
};

/// In order of place, so that a lane reads its part from front to back; the last note stands after all places.
using TransferNotes = std::vector<TransferNote>;

/// Where messages touch the lanes.
struct LaneNotes {
  TransferNotes offers;  ///< at the instr whose end offers the message
  TransferNotes
      sends;  ///< at `Transfer::sent`; after all places when that is the lane's end, where nothing comes later
  TransferNotes posts;  ///< at `Transfer::post`; empty where posts do not matter
};

/// `batches` are those of the program and mode.
LaneNotes lane_notes(const Program& program, TransferMode mode, const Batches& batches);

/// Index of the first of `notes` at or after the instr `at`.
std::uint32_t first_note(const TransferNotes& notes, InstrIndex at);

}  // namespace plumb
