#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/comparison/replay.hpp"
#include "sim/comparison/run_work.hpp"

namespace plumb {

/// The times of `run` for a graph that was made from another timeline (or from itself), so that a replay ends when the
/// run did if both have the same actions in the same order.
///
/// `works` holds for every member of the graph where `run` did its work; where it did not, it takes no time.
///
/// Of the two things that a unit waits for, its lane and a value, only the later one can be seen. The other one is
/// given what is usual between the same devices, but no more than there was time for. What passed between the end of
/// the giving action and the call that sent its result is the host's where the run tells of the host at all.
ReplayInputs replay_inputs(const ReplayGraph& graph, const Timeline& run, std::span<const RunWork> works);

/// The times of the timeline that the graph was made from.
ReplayInputs own_inputs(const ReplayGraph& graph, const Timeline& timeline);

/// As `replay_inputs`; what the run does not have takes as long as predicted.
ReplayInputs measured_inputs(const ReplayGraph& graph, const ReplayInputs& predicted, const Timeline& run,
                             std::span<const RunWork> works);

/// What is usual in several runs: each time lies between the median and the mean of its like over all runs. Alike are
/// actions of the same device, stage and op that take equally long in `predicted`, the time before actions of the same
/// op and device, and messages from the same device to the same other one.
ReplayInputs usual_inputs(const ReplayGraph& graph, const ReplayInputs& predicted, std::span<const ReplayInputs> runs);

}  // namespace plumb
