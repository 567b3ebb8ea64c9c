#pragma once

#include <cstdint>

namespace plumb {

/// How messages travel, with the name of each mode (transfer_semantics.hpp has the rules).
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

enum class EngineChoice : std::uint8_t {
  kAuto,   ///< one pass where it applies, events otherwise
  kPass,   ///< fixed order, no contention: refuses what it cannot do
  kEvent,  ///< event queue: everything
};

struct RunSize;

struct SimOptions {
  EngineChoice engine = EngineChoice::kAuto;
  TransferMode transfers = TransferMode::kBuffered;
  bool spans = true;              ///< fill Timeline::spans
  bool memory_curve = true;       ///< fill Timeline::memory
  bool idle_causes = true;        ///< fill causes; off: only busy and idle
  bool peak_composition = false;  ///< fill DeviceSummary::peak_tensors
  bool critical_path = true;      ///< fill Timeline::critical_path, where spans are filled
  std::uint64_t seed = 0;         ///< of the jitter
  /// Told what a run of all actions takes before `simulate_summary` makes one (sim/rules/run_size.hpp).
  void (*on_full_run)(const RunSize&) = nullptr;
};

}  // namespace plumb
