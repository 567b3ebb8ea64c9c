#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <tuple>

#include "sim/traces/readers/rank_run.hpp"

namespace plumb {

/// When the values that work needed were there. A trace of a host tells that only of those that it waited for; a kernel
/// of NCCL that receives ends when its value has arrived, whoever waits.
class Arrivals {
 public:
  explicit Arrivals(std::span<const RankRun> runs);

  /// Returns the end of the kernel that received what `work` needs, at most the begin of `work`, and that begin where
  /// there is no such kernel. Nanoseconds, of the clock of `runs`.
  std::int64_t of(const TracedAction& work) const;

  /// Returns whether a kernel showed `of`.
  bool is_observed(const TracedAction& work) const { return arrived_.contains(key_of(work)); }

 private:
  using Key =
      std::tuple<StageId, bool, MicrobatchId, std::int32_t>;  ///< stage of the receiver; backward, microbatch, step

  static Key key_of(const TracedAction& action);

  std::map<Key, std::int64_t> arrived_;
};

}  // namespace plumb
