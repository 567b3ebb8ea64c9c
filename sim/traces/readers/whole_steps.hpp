#pragma once

#include <vector>

#include "sim/traces/readers/rank_run.hpp"

namespace plumb {

/// Counts the steps of runs whose actions are named (`Numbering::kNamed`), and leaves out what is of no whole step.
///
/// Where all of these runs have work in ranges `ProfilerStep#n`, the steps are those whose range is whole (has every
/// action, each equally often) on every rank. Otherwise the k-th occurrence of an action is of step k; a trace that
/// begins, or ends, in the middle of a step has some actions once more than others, and which of both it is follows
/// from what comes first in every step: F before B, B before W, calls that receive before and those that send after
/// their work. The step that was cut is dropped on all ranks, and `RankRun::left_out` says so.
///
/// Runs that know their steps already (`steps` is not 0) stay as they are. Throws `Error` where actions that no cut
/// explains are missing.
void keep_whole_steps(std::vector<RankRun>& runs);

}  // namespace plumb
