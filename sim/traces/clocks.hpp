#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "sim/traces/producers.hpp"

namespace plumb {

/// By how much clocks may differ so that no message arrives before it was sent.
///
/// `slack(from, to)` is the smallest of (arrival by the receiver's clock - readiness by the sender's clock) over all
/// messages from one rank to another.
class Slacks {
 public:
  static constexpr std::int64_t kNoMessage = std::numeric_limits<std::int64_t>::max();

  explicit Slacks(std::size_t ranks) : ranks_(ranks), least_(ranks * ranks, kNoMessage) {}

  void add(std::size_t from, std::size_t to, std::int64_t slack_ns) {
    std::int64_t& least = least_[from * ranks_ + to];
    if (slack_ns < least) least = slack_ns;
  }

  std::size_t ranks() const { return ranks_; }
  std::int64_t at(std::size_t from, std::size_t to) const { return least_[from * ranks_ + to]; }

 private:
  std::size_t ranks_;
  std::vector<std::int64_t> least_;
};

/// Clocks of one machine are read in different processes; what is less than this is no finding.
inline constexpr std::int64_t kClockNoiseNs = 1000;

/// Returns the slacks of all values that one rank of `runs` took of another, of one step or of all.
Slacks message_slacks(std::span<const RankRun> runs, const TracedProducers& producers,
                      std::optional<std::int32_t> step);

struct ClockOffsets {
  std::vector<std::int64_t> add_ns;  ///< what to add to the times of each rank
  std::int64_t residual_ns = 0;      ///< by how much the tightest message still precedes its cause; 0: none does
};

/// Offsets of the ranks' clocks. All are zero where the clocks agree as they are. Otherwise pairs with messages in both
/// directions are centred between their bounds by least squares (the assumption of NTP: both ways take equally long),
/// and where that breaks another bound, offsets that keep all bounds are taken instead (Bellman and Ford). Where none
/// do, `residual_ns` is positive.
ClockOffsets clock_offsets(const Slacks& slacks);

}  // namespace plumb
