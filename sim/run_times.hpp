#pragma once

#include <cstdint>
#include <vector>

#include "models/units.hpp"
#include "sim/transfer_semantics.hpp"

namespace plumb {

/// When everything in a Program happened: what an engine finds out, and all that metrics, causes and curves need.
struct RunTimes {
  std::vector<Ticks> start;              ///< by instr; both members of an overlapped pair: that of the pair
  std::vector<Ticks> end;                ///< by instr; both members of an overlapped pair: that of the pair
  std::vector<TransferTimes> transfers;  ///< by transfer
  std::vector<Ticks> batch_sent;         ///< by transfer, in batched mode: when its send is over; otherwise empty
  std::vector<Ticks> collective_end;     ///< by collective
  Ticks makespan = 0;                    ///< last end of an instr or collective

  /// When the sender need no longer wait for the message: when it is done, or its batch.
  Ticks sent(std::uint32_t transfer) const {
    return batch_sent.empty() ? transfers[transfer].done : batch_sent[transfer];
  }
  Ticks& sent(std::uint32_t transfer) { return batch_sent.empty() ? transfers[transfer].done : batch_sent[transfer]; }

  friend bool operator==(const RunTimes&, const RunTimes&) = default;
};

}  // namespace plumb
