#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/comparison/alignment.hpp"
#include "sim/comparison/replay.hpp"

namespace plumb {

/// The times of `run` for a graph that was made from another timeline (or from itself), so that a replay ends when the
/// run did if both have the same actions in the same order.
///
/// `spans` holds for every member of the graph the same action in `run`; null: it has none, and takes no time.
///
/// Of the two things that a unit waits for, its lane and a value, only the later one can be seen. The other one is
/// given what is usual between the same devices, but no more than there was time for. What passed between the end of
/// the giving action and the call that sent its result is the host's where the run tells of the host at all.
ReplayInputs replay_inputs(const ReplayGraph& graph, const Timeline& run, std::span<const Span* const> spans);

/// For every member of the graph the span of the other timeline. Requires that the graph was made of the `predicted`
/// side of `alignment`.
std::vector<const Span*> replay_spans(const ReplayGraph& graph, const Alignment& alignment);

/// As `replay_inputs`; what the run does not have takes as long as predicted.
ReplayInputs measured_inputs(const ReplayGraph& graph, const ReplayInputs& predicted, const Timeline& run,
                             std::span<const Span* const> spans);

/// What is usual in several runs: each time is the median of its like over all runs. Alike are actions of the same
/// device, stage and op that take equally long in `predicted`, the time before actions of the same op and device, and
/// messages from the same device to the same other one.
ReplayInputs usual_inputs(const ReplayGraph& graph, const ReplayInputs& predicted, std::span<const ReplayInputs> runs);

}  // namespace plumb
