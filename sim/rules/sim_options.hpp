#pragma once

#include <cstdint>

#include "schedules/runnability/transfer_mode.hpp"

namespace plumb {

enum class EngineChoice : std::uint8_t {
  kAuto,   ///< one pass where it applies, events otherwise
  kPass,   ///< fixed order, no contention: refuses what it cannot do
  kEvent,  ///< event queue: everything
};

struct WorkSize;

struct SimOptions {
  EngineChoice engine = EngineChoice::kAuto;
  TransferMode transfers = TransferMode::kBuffered;
  bool spans = true;              ///< fill Timeline::spans
  bool memory_curve = true;       ///< fill Timeline::memory
  bool stash_curve = false;       ///< fill Timeline::stashes, where spans are filled
  bool idle_causes = true;        ///< fill causes; off: only busy and idle
  bool peak_composition = false;  ///< fill DeviceSummary::peak_tensors
  bool critical_path = true;      ///< fill Timeline::critical_path, where spans are filled
  std::uint64_t seed = 0;         ///< seed of the jitter
  /// Told what a run of all actions takes before `simulate_summary` makes one (sim/rules/run_size.hpp).
  void (*on_full_run)(const WorkSize&) = nullptr;
};

}  // namespace plumb
