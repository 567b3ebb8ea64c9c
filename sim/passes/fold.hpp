#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedules/document/schedule.hpp"
#include "schedules/program/program.hpp"

namespace plumb {

/// A part of one lane that repeats: `kept` iterations of `length` instrs from `begin` on.
struct FoldedRegion {
  InstrIndex begin = 0;
  InstrIndex length = 0;
  std::int64_t kept = 0;
};

/// A repeating part of every lane; the same number of iterations was taken out of each.
struct FoldedPhase {
  std::vector<FoldedRegion> lanes;  ///< by device
  std::int64_t kept = 0;            ///< fewest of a lane
  std::int64_t removed = 0;         ///< iterations taken out of every lane; they stood between two kept ones
  std::int64_t advance = 0;         ///< microbatches of one iteration

  /// Phases met in each of the kept iterations, in order; empty, or one list per iteration.
  std::vector<std::vector<FoldedPhase>> inside;
};

/// A smaller schedule of the same family: what is left of a folded one when iterations are taken out of its long
/// repeats.
///
/// Inside an update of m microbatches a cut c and a length D are chosen so that every long repeat runs through all
/// microbatches [c, c + D) of its stages and no other action names one of them. They are taken away: repeats lose D /
/// |advance| iterations, and microbatch x becomes x - D where it is past the cut, in every update alike. Likewise with
/// whole updates. What is left is a schedule in its own right that begins, goes on and ends as the original does.
struct Fold {
  Schedule schedule;
  std::vector<FoldedPhase> phases;  ///< in the order in which every lane meets them; positions as in its Program
};

/// Takes as much as possible out of the repeats, so that about `keep` microbatches, but at least four iterations, of
/// each stay; what is removed is a multiple of `multiple` microbatches. Nothing when no repeat is long enough, or the
/// document says something about single microbatches (sizes, extra edges) that a cut would lose.
std::optional<Fold> fold(const Schedule& schedule, std::int64_t keep, std::int64_t multiple);

}  // namespace plumb
