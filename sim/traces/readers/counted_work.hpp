#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/traces/readers/rank_run.hpp"
#include "sim/traces/readers/unnamed_work.hpp"

namespace plumb {

/// Returns how many forwards the rank runs before its first other work.
std::int32_t warmup_forwards(const RankRun& run);

/// Adds forwards and backwards that no name tells apart, with the calls around them, and numbers each kind from 0.
/// Throws `Error` where there are not as many forwards as backwards.
void add_counted(std::span<const UnnamedWork> all, RankRun& run);

/// Gives counted work (`Numbering::kCounted`) of all ranks its stages, microbatches and steps: a step ends where the
/// first rank has run as many backwards as forwards.
///
/// In Megatron-LM, the forwards before the first backward tell how many stages a rank holds: rank r of p runs p - r of
/// them with one stage, and 2 (p - r - 1) + (v - 1) p + 1 with v that go round the ranks. Then the order is that of its
/// `get_schedule_table`: groups of p microbatches, chunk by chunk, backwards with the chunks reversed.
///
/// Throws `Error` where ranks disagree, and where the forwards fit neither.
void number_microbatches(std::vector<RankRun>& runs);

}  // namespace plumb
