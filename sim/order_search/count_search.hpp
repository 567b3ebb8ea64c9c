#pragma once

#include <cstdint>
#include <string>

#include "schedules/catalogue/schedule_params.hpp"
#include "schedules/phases/phase_rules.hpp"
#include "sim/order_search/order_score.hpp"

namespace plumb {

/// Rules (schedules/phases/RULES.md), and what they are expanded for.
struct RulesForSizes {
  PhaseRules rules;
  std::string file;
  ScheduleParams params;
};

/// A schedule of rules whose counts were varied.
struct VariedCounts {
  Schedule schedule;
  Ticks makespan = 0;   ///< 0: nothing fits
  std::string changes;  ///< "warmup +1 on d0 d1, k=3"; empty: none helps
  std::int64_t simulations = 0;
};

/// Local search over what rules say of counts: the value of a `let`, the count of a phase (of two phases in opposite
/// ways, so that as many passes remain), on one device or on all, and the options. What cannot be expanded, hangs, does
/// not fit, breaks a rule of documents (a forward in a pair with its own backward) or has another placement is no step.
/// A step is taken when it is no worse than now, or than some steps ago (late acceptance), by the simulator. Never
/// worse than the rules as they are, where these fit. The same seed gives the same answer.
VariedCounts vary_counts(const RulesForSizes& of, const OrderRun& run, std::int64_t simulations, std::uint64_t seed);

}  // namespace plumb
