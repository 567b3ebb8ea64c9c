#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "schedules/program/list_times.hpp"

namespace plumb {

/// One device's actions in order, with their times.
using DeviceSpans = std::vector<ListTimes::Span>;

/// The stashes of a device in a looped pipeline: chunk c of device d is stage c `num_devices` + d.
struct DeviceStashes {
  std::int32_t num_devices = 0;
  std::int64_t num_microbatches = 0;
  std::int32_t chunks = 0;
  std::int32_t offloaded_chunks = 0;  ///< these may leave, from the first one on

  std::int32_t chunk(const Action& action) const { return static_cast<std::int32_t>(action.stage) / num_devices; }
  std::size_t count() const { return static_cast<std::size_t>(chunks * num_microbatches); }
  std::size_t number(const Action& action) const {
    return static_cast<std::size_t>(chunk(action) * num_microbatches) + index(action.microbatch);
  }
};

/// How long copies take on the link to the host that a pair of devices shares.
struct CopyTimes {
  Ticks both_ways = 0;  ///< while others come back
  Ticks solo = 0;       ///< while nothing comes back
};

/// Chooses when the stashes of one device go to the host and come back. Out and back take turns, and the odd device of
/// a pair goes out while the even one comes back. (Wan et al., PipeOffload, arXiv 2503.01328, and its released code)
class OffloadPlan {
 public:
  /// `phase` is the time of the first turn out. `spans` and `stashes` must outlive the plan.
  OffloadPlan(const DeviceSpans& spans, const DeviceStashes& stashes, CopyTimes copies, Ticks phase);

  /// The device's list with EVICT and LOAD. Stashes for which no turns remain stay.
  std::vector<Action> in_turns() const;

  /// Most stashes that the device keeps in turns by the count of the released code: what goes out is gone when its copy
  /// is over.
  std::int64_t most_kept_in_turns() const;

  /// The same without turns: every stash goes out as soon as it is there and the one before it is out, and comes back
  /// as late as it can. Less memory, for copies that meet others on their link.
  std::vector<Action> closely() const;

 private:
  /// A copy at the time when it begins.
  struct Move {
    Ticks start = 0;
    Ticks possible = 0;  ///< the earliest start
    const ListTimes::Span* of = nullptr;
    bool out = false;
  };

  void choose_stashes();
  bool try_moves();
  std::vector<Move> moves_in_turns() const;
  std::vector<Action> with(std::vector<Move> moves) const;

  const DeviceSpans& spans_;
  const DeviceStashes& stashes_;
  CopyTimes copies_;
  Ticks phase_;
  std::vector<bool> leaves_;  ///< by stash
  std::vector<Move> moves_;
};

/// Most stashes that a device with this list keeps. What goes out is kept until the next one
/// follows it, or until it comes back.
std::int64_t most_kept(const std::vector<Action>& actions);

}  // namespace plumb
