#pragma once

#include <cstdint>
#include <vector>

#include "models/ground/units.hpp"
#include "sim/rules/transfer_semantics.hpp"

namespace plumb {

/// When everything in a Program happened: what an engine finds out, and all that metrics, causes and curves need.
struct RunTimes {
  std::vector<Ticks> start;              ///< by instr; both members of an overlapped pair: that of the pair
  std::vector<Ticks> end;                ///< by instr; both members of an overlapped pair: that of the pair
  std::vector<TransferTimes> transfers;  ///< by transfer
  std::vector<Ticks> sent_at;            ///< by transfer: when its send is over; empty where that is when it is done
  std::vector<Ticks> collective_end;     ///< by collective
  Ticks makespan = 0;                    ///< last end of an instr or collective

  /// When the sender need no longer wait for the message. (That of a batch is over when the batch is; a real run's when
  /// the message has been handed over.)
  Ticks sent(std::uint32_t transfer) const { return sent_at.empty() ? transfers[transfer].done : sent_at[transfer]; }
  Ticks& sent(std::uint32_t transfer) { return sent_at.empty() ? transfers[transfer].done : sent_at[transfer]; }

  friend bool operator==(const RunTimes&, const RunTimes&) = default;
};

}  // namespace plumb
