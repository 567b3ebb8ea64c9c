#pragma once

#include <vector>

#include "sim/traces/readers/rank_run.hpp"

namespace plumb {

/// Finds out which stages the chunks of `runs` are where their traces only number chunks (`RankRun::numbers_chunks`);
/// does nothing otherwise.
///
/// Places chunks. With p ranks, chunk c of rank r is stage c p + r where chunks go round the ranks (interleaved 1F1B),
/// and c p + p - 1 - r for odd c where the pipeline folds back (V: ZBV, DualPipeV). The placement is taken with which
/// every value can have been used after it was made, whatever the clocks of the ranks are.
///
/// Throws `Error` where none is, and where both are, as without some ranks.
void place_chunks(std::vector<RankRun>& runs);

}  // namespace plumb
