#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedules/program/program.hpp"
#include "sim/lanes/metrics.hpp"
#include "sim/passes/fold.hpp"
#include "sim/rules/sim_options.hpp"
#include "sim/timeline/timeline.hpp"

namespace plumb {

/// Runs the Program of a `Fold` and jumps over the iterations that were taken out, exactly.
///
/// ### Why the jump is exact
/// A phase is run with limits: no lane may pass its k-th iteration. Where all lanes then stand, P(k), follows from the
/// order alone, and P(k + q) is P(k) moved on by q iterations in every lane. Call what ran between P(k - q) and P(k)
/// the last period and suppose
///   (1) every instr of lane d in the last period happened exactly s_d later than its counterpart one period earlier;
///   (2) nothing after P(k), in whatever lane d, reads an instr of another lane e that stands before the last period,
///       or else s_e <= s_d and lane e had come to the beginning of the last period before lane d came to its end, and
///       likewise one period earlier: what is read is over by then, and always will be;
///   (3) either all s_d are equal, or every instr of lane d in the last period reads only lanes e with s_e <= s_d, and
///   all
///       that it started together with (those of its inputs that were over last) have s_e = s_d.
/// The counterpart i' of an instr i of the next period reads the counterparts of what i reads. By (2) these are of the
/// last period or of the one that is being run, so by (1) and by induction over the order of the run each input of i
/// comes s_e later than the input of i'. Starting is a maximum of inputs: with (3) the last of them came s_d later and
/// the others at most s_d later, so i starts s_d later than i', and again its last inputs are those with s_e = s_d.
/// So the next period repeats the last one, moved by s_d, as do its idle times and their causes, and by induction all
/// that follow. After n periods the state that later instrs can see is the last period moved by n s_d: the times are
/// moved, the totals of one period are added n times, and the run goes on.
///
/// ### Messages
/// A channel is a lane whose instrs are messages: each starts when it is offered and the one before it is done. How
/// many it has sent at P(k) follows from the order alone, too, as long as receives need not be posted. With messages
/// all shifts must be equal, so that idle times keep their causes; a message and its counterpart must have the same
/// size and touch their lanes at places that are a period apart (not those that `Program::waits_by_rank` tells of); and
/// a channel that sent nothing must be free before its sender goes on.
///
/// ### Memory
/// Bytes come and go by order, so what is left out adds, so many times over, what one period allocates and does not
/// free. A peak among what is left out is not above the one before it (where a period frees more than it allocates, or
/// as much) or the one after it, where at least one more period stands.

struct FoldedResult {
  /// Devices, makespan and causes of the unfolded schedule. Nothing when some phase finds no steady state in what is
  /// kept, its period does not divide what was removed, or the lanes deadlock.
  std::optional<Timeline> timeline;
  std::vector<UpdateMark> marks;  ///< the updates that were run, by device
  std::int64_t multiple = 1;      ///< what should divide the removed microbatches, where it did not
};

/// Requires no moves, no jitter, messages (if any) on links of their own in buffered or fifo mode, and positions as
/// `fold` counts them.
FoldedResult run_folded(const Program& program, const Fold& fold, const SimOptions& options);

}  // namespace plumb
