#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string_view>

#include "models/ground/units.hpp"

namespace plumb {

/// Letters follow PyTorch's pipelining package; the zero-bubble papers call our `I` "B".
enum class Op : std::uint8_t {
  kF,  ///< forward
  kB,  ///< full backward = I then W
  kI,  ///< input gradient
  kW,  ///< weight gradient
  kR,  ///< recompute the stage's forward
  kU,  ///< optimizer update of a stage; counts updates, not microbatches
  kV,  ///< post-validation of an update
  kX,  ///< extra work, numbered
  kSendF,
  kRecvF,
  kSendB,
  kRecvB,
  kSendR,
  kRecvR,
  kReduceGrad,
  kUnshard,
  kReshard,
  kSyncWeights,
  kEvict,
  kLoad,
};

inline constexpr std::size_t kOpCount = 20;

/// Texts of the ops, indexed by `Op`.
inline constexpr std::array<std::string_view, kOpCount> kOpNames{
    "F",      "B",      "I",      "W",      "R",      "U",           "V",       "X",       "SEND_F",
    "RECV_F", "SEND_B", "RECV_B", "SEND_R", "RECV_R", "REDUCE_GRAD", "UNSHARD", "RESHARD", "SYNC_WEIGHTS",
    "EVICT",  "LOAD"};

constexpr bool is_backward(Op op) { return op == Op::kB || op == Op::kI; }
constexpr bool is_send(Op op) { return op == Op::kSendF || op == Op::kSendB || op == Op::kSendR; }
constexpr bool is_recv(Op op) { return op == Op::kRecvF || op == Op::kRecvB || op == Op::kRecvR; }
/// Occupies the compute lane.
constexpr bool is_compute(Op op) { return op <= Op::kX; }
/// May be one half of an overlapped pair.
constexpr bool can_overlap(Op op) { return op <= Op::kR || op == Op::kX; }
/// Names no microbatch.
constexpr bool is_collective(Op op) { return op >= Op::kReduceGrad && op <= Op::kSyncWeights; }

/// Joins a collective with what this device contributes.
constexpr bool joins_collective(Op op) { return op == Op::kReduceGrad || op == Op::kSyncWeights; }
/// Moves a stash, or the weights of a stage, to another memory or back.
constexpr bool is_move(Op op) { return op == Op::kEvict || op == Op::kLoad; }
/// What carries the result of an action elsewhere: SEND_F (an activation), SEND_R (a recomputed one), SEND_B (a
/// gradient), UNSHARD (weights, from X to X); a move is its own.
constexpr Op message_op(Op made_by) {
  if (is_move(made_by)) return made_by;
  if (made_by == Op::kX) return Op::kUnshard;
  return made_by == Op::kF ? Op::kSendF : made_by == Op::kR ? Op::kSendR : Op::kSendB;
}

/// One thing that a device does once: `[replica:]stage OP [microbatch][.slice][@where]`.
///
/// 16 bytes, because schedules hold millions of them.
struct Action {
  static constexpr std::int16_t kAllSlices = -1;
  static constexpr std::int16_t kNowhere = -1;
  static constexpr std::int16_t kHost = -2;

  StageId stage{};
  /// The update for U and V, the number of the work for X, -1 for collectives.
  MicrobatchId microbatch{};
  ReplicaId replica{};
  std::int16_t slice = kAllSlices;
  /// Peer of an explicit transfer or move: a device, `kHost`, or `kNowhere` (the neighbour).
  std::int16_t where = kNowhere;
  Op op{};
  /// Further microbatches that follow `microbatch` in the same action (`0F4+5` has one).
  std::uint8_t merged : 7 = 0;
  /// First half of an overlapped pair; the next action of the device is the other half: `(a;b)OVERLAP`.
  std::uint8_t overlaps_next : 1 = 0;

  friend bool operator==(const Action&, const Action&) = default;
};

static_assert(sizeof(Action) == 16);

/// An action of one microbatch.
inline Action action_of(std::int32_t stage, Op op, std::int64_t microbatch) {
  Action action;
  action.stage = StageId{stage};
  action.op = op;
  action.microbatch = MicrobatchId{static_cast<std::int32_t>(microbatch)};
  return action;
}

}  // namespace plumb
