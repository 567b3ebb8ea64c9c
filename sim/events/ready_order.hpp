#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "schedules/catalogue/ready_action.hpp"
#include "schedules/document/schedule.hpp"
#include "schedules/program/program.hpp"

namespace plumb {

/// Decides at run time what a free device does next.
class ReadyPolicy {
 public:
  virtual ~ReadyPolicy() = default;

  /// Index of the action to start, out of `ready`, which is not empty and in the order of the device's list. No value:
  /// none of them for now.
  virtual std::optional<std::size_t> choose(std::span<const ReadyAction> ready, const ReadyDevice& device) const = 0;
};

/// The device's list is a list of priorities: the first ready action runs (opportunistic order).
class ListPriority final : public ReadyPolicy {
 public:
  std::optional<std::size_t> choose(std::span<const ReadyAction>, const ReadyDevice&) const override { return 0; }
};

/// A backward before anything else, as it frees memory and feeds the device before (message driven order).
class BackwardFirst final : public ReadyPolicy {
 public:
  std::optional<std::size_t> choose(std::span<const ReadyAction> ready, const ReadyDevice& device) const override;
};

struct ReadyOptions {
  /// Actions of its list that a device looks at; more find more to do and take longer.
  std::size_t window = 32;
  /// Nothing overtakes when that would ever keep more stashes on the device than the list does at its peak.
  bool keep_memory = true;
  /// Of the actions of one kind and stage only the first one of the list that can run is offered.
  bool oldest_only = false;
  /// Forwards overtake updates where the weight policy of their stage does not ask for what these make.
  bool updates_may_wait = false;
  /// An R runs so that it is over when the gradient comes from another device, not before.
  bool recompute_in_time = false;
  std::uint64_t seed = 0;  ///< of the jitter
};

/// The order that resulted, as fixed lists.
struct RunTimeOrder {
  Schedule schedule;
  Ticks makespan = 0;  ///< makespan of the run that decided it
};

/// Relaxes the order of a schedule: runs `program` with devices that choose at run time, and returns what they did as
/// fixed lists, which both executors can run. Messages are buffered and sent in the order in which they are made.
///
/// Nothing overtakes what it depends on; updates and reductions are overtaken by, and overtake, only actions of other
/// stages (but see `updates_may_wait`), so that every action reads the same weights as before; extra work (X) and V are
/// overtaken by nothing. `program` must be `schedule` lowered. Throws `Error` when the document has extra edges.
RunTimeOrder run_time_order(const Schedule& schedule, const Program& program, const ReadyPolicy& policy,
                            const ReadyOptions& options = {});

}  // namespace plumb
