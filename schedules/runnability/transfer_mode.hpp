#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace plumb {

/// How messages travel, with the name of each mode (sim/rules/transfer_semantics.hpp has the rules).
enum class TransferMode : std::uint8_t {
  kBuffered,    ///< "buffered": asynchronous; a message starts when its value exists and its link is free
  kFifo,        ///< "fifo": as buffered, but messages of a pair and direction start and arrive in order of issue
  kRendezvous,  ///< "rendezvous": fifo, and a message starts only when its receive is posted
  kBlocking,    ///< "blocking": rendezvous, and the sender's compute lane waits until the message has arrived
  kBatched,     ///< "batched": rendezvous, and a send and a receive between the same two devices that stand at the same
                ///< place of the lane are issued and completed together
  kPairFifo,  ///< "pair-fifo": rendezvous, and two devices have one queue for both directions: one transfer at a time,
              ///< in the order in which each of them sends and receives
};

/// Names of the modes, by their numbers.
inline constexpr std::array<std::string_view, 6> kTransferModeNames{"buffered", "fifo",    "rendezvous",
                                                                    "blocking", "batched", "pair-fifo"};

/// What a mode asks for.
struct TransferRules {
  bool in_issue_order = false;  ///< offered and served as issued; otherwise as produced
  bool needs_post = false;      ///< starts only when the receive is posted
  bool blocks_lane = false;     ///< the sender's lane waits for the arrival
  bool batches = false;         ///< sends and receives of one place end together
  bool pair_queues = false;     ///< both directions of a pair are one queue
};

constexpr TransferRules rules_of(TransferMode mode) {
  return {.in_issue_order = mode != TransferMode::kBuffered,
          .needs_post = mode >= TransferMode::kRendezvous,
          .blocks_lane = mode == TransferMode::kBlocking,
          .batches = mode == TransferMode::kBatched,
          .pair_queues = mode == TransferMode::kPairFifo};
}

}  // namespace plumb
