#pragma once

#include "models/costs/stage_costs.hpp"
#include "schedules/document/action.hpp"
#include "schedules/document/schedule.hpp"

namespace plumb {

/// One of two passes in a pair.
struct PassInPair {
  StageId stage{};
  Op op = Op::kF;
  Ticks alone = 0;  ///< how long it takes on its device
};

/// Of two passes in a pair on a device of this speed, as lowering prices it, rounded down.
Ticks ticks_of_pair(const StageCosts& costs, PassInPair one, PassInPair other, double speed = 1.0);

/// What two actions save as a pair, with the costs of single microbatches that are not computed again. Not above 0: a
/// pair of them is of no use.
Ticks saved_by_pair(const StageCosts& costs, const Action& one, const Action& other);

/// Whether the costs have what a pair may save: its own time, or communication inside passes. Without either every pair
/// takes as long as its halves.
bool pairs_may_save(const StageCosts& costs);

bool has_overlapped_pairs(const Schedule& schedule);

}  // namespace plumb
