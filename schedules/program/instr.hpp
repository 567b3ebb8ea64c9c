#pragma once

#include <cstdint>
#include <vector>

#include "models/ground/units.hpp"
#include "schedules/document/action.hpp"

namespace plumb {

/// Index into `Program::instrs`: the position of a compute-lane step, unique over all devices.
using InstrIndex = std::uint32_t;

/// One step of a device's compute lane: F B I W R U V X, or a point that takes no time: a collective is joined,
/// a move is issued.
struct Instr {
  Action action;
  std::uint32_t row = 0;         ///< into `Program::rows` and `Program::durations`
  std::uint32_t first_wait = 0;  ///< into `Program::waits`; the next instr's `first_wait` ends the range
};

/// What an instr waits for besides its predecessor in the lane.
struct Wait {
  static constexpr std::uint32_t kDirect = 0xFFFFFFFFU;         ///< the end of `source`, nothing in between
  static constexpr std::uint32_t kLatency = 0xFFFFFFFEU;        ///< the end of `source` + `Program::comm`
  static constexpr std::uint32_t kCollectiveBit = 0x80000000U;  ///< the rest is an index of a collective

  InstrIndex source = 0;  ///< the instr that makes the value (a member, for a collective)
  std::uint32_t via = kDirect;
};

/// Values that stay on their device, by instr: to how many other stages of the device its value goes, and from how many
/// its input comes. Empty where stages are a chain: there a value goes to one stage.
struct ValuesBeside {
  std::vector<std::uint8_t> given;
  std::vector<std::uint8_t> taken;
};

/// A stage as held by one device: its own weights, gradients and stash.
struct Holder {
  ReplicaId replica{};
  StageId stage{};
  DeviceId device{};
  bool weights_start_away = false;  ///< on the host, because the first move of its weights is a LOAD
  /// Two where gradients of an update begin while those of the update before, which were reduced, wait for their U.
  std::int8_t gradient_blocks = 1;
  std::int32_t correction_buffers = 0;  ///< copies of the weights that live the whole run, besides the weights

  friend bool operator==(const Holder&, const Holder&) = default;
};

/// What all instrs of one kind share: the same holder, op, variant and sizes take the same time and memory.
struct Row {
  static constexpr std::uint32_t kWhole = 0xFFFFFFFFU;

  std::uint32_t holder = 0;
  Op op{};
  bool recompute = false;         ///< the stash of F is dropped and recomputed before the backward (EVICT, LOAD: only
                                  ///< the input is moved); V: there are forwards between the update and it
  bool overlapped = false;        ///< first member of an overlapped pair: its duration is that of the pair;
                                  ///< the row of the second member has 0
  std::uint8_t microbatches = 1;  ///< merged into one action; 0: none, it moves weights
  std::uint32_t sum = kWhole;     ///< into `Program::sums`; kWhole: `microbatches` whole ones
  std::int32_t taught = -1;       ///< X of a teacher: the first microbatch that it takes forward; -1: not of one
};

}  // namespace plumb
