#pragma once

#include <optional>

#include "schedules/document/schedule.hpp"

namespace plumb {

/// Delays of a stage in updates once the pipeline is full, whatever the length of the document.
struct SteadyDelays {
  double forward = 0;
  double backward = 0;
  double recompute = 0;  ///< that of the backward if nothing is recomputed
  double distance = 0;   ///< D: backwards between a microbatch's forward and its own

  friend bool operator==(const SteadyDelays&, const SteadyDelays&) = default;
};

/// tau = D / N in closed form, for documents that say by the parameter `timing` how a pipeline that is filled once and
/// never flushed runs (1f1b, slots, fused): D of stage s of P is P - 1 - s, 2 (P - s) - 1 or 2 (P - 1 - s). Nothing for
/// other documents. (Yang et al., PipeMare, arXiv 1910.05124, table 1)
std::optional<SteadyDelays> steady_delays(const Schedule& schedule, StageId stage);

/// Whether every stage has them.
bool has_closed_delays(const Schedule& schedule);

}  // namespace plumb
