#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sim/comparison/alignment.hpp"

namespace plumb {

/// Where a run did the work of a predicted action. Moments are those of the run.
struct RunWork {
  const Span* span = nullptr;  ///< span of the action, or of the one in which the work begins; null: the run has none
  Ticks start = 0;
  Ticks end = 0;
  Ticks length = 0;             ///< less than from start to end where the run did something else in between
  const Span* giver = nullptr;  ///< at whose end the result is there

  friend bool operator==(const RunWork&, const RunWork&) = default;
};

/// Returns the work of an action that the run has itself.
RunWork same_action(const Span& span);

/// Returns, by predicted action in the order of `members`, where the run did its work.
///
/// Mostly that is the same action. But the backward of a microbatch through a stage is one piece of work that can be
/// cut in several ways (B; I and W; R before any of them; W alone, as PyTorch does on the first stage): a side that cut
/// it otherwise is held against the other one by how far the work has come. An action that takes a third of the
/// predicted work takes a third of the measured one.
///
/// Nothing where one side did work that the other one did not. Requires that `members` are spans of the predicted side.
std::optional<std::vector<RunWork>> run_work(std::span<const Span* const> members, const Alignment& alignment);

}  // namespace plumb
