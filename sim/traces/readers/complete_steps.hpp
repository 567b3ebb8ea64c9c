#pragma once

#include <vector>

#include "sim/traces/readers/rank_run.hpp"

namespace plumb {

/// Throws `Error` where a step of runs whose actions are named lacks work, or is put together from two steps: every
/// stage that is traced runs the forwards of the same microbatches, a backward of each unless no stage runs any (B, or
/// I and W; of stage 0 W alone, because PyTorch runs no I there), and all forwards before their backwards. A trace that
/// is shorter than one step, or that lies between two, has every action that it has equally often; only this tells.
void check_complete_steps(const std::vector<RankRun>& runs);

}  // namespace plumb
