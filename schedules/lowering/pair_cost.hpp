#pragma once

#include <optional>

#include "models/costs/stage_costs.hpp"
#include "schedules/document/action.hpp"

namespace plumb::lowering {

/// What the time of an overlapped pair follows from, for one of its halves.
struct PairHalf {
  Ticks alone = 0;      ///< its time when it stands alone, folded recompute included
  Ticks recompute = 0;  ///< the part of it that is folded recompute
  Ticks comm = 0;       ///< its communication, ...
  Ticks uncovered = 0;  ///< ... and the part of that during which it computes nothing when it stands alone
};

/// The communication of the half that `op` is, with `recompute` folded into it or not, in the times of its stage;
/// `alone` and `recompute` of the half remain 0.
PairHalf communication_half(const StageTimes& times, Op op, bool recompute);

/// The time that the costs of a stage give for pairs of `one` and `other`; 0 where they give none.
Ticks given_pair_time(const PairTimes& pairs, Op one, Op other);

/// How long a pair takes. Where both stages give a time for pairs of these ops: the mean of the two (`given`), and the
/// recompute of both halves. Otherwise the device computes one half after the other, and communication of either runs
/// beside that: the largest of both computations, both communications, and each half alone. Without communication that
/// is the sum.
Ticks pair_time(const PairHalf& one, const PairHalf& other, std::optional<Ticks> given);

}  // namespace plumb::lowering
