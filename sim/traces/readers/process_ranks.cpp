#include "sim/traces/readers/process_ranks.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "models/ground/error.hpp"
#include "sim/traces/readers/counted_work.hpp"
#include "sim/traces/readers/rank_trace.hpp"

namespace plumb {
namespace {

void rank_by_stage(std::vector<RankRun>& runs) {
  std::int32_t stages = 0;
  std::size_t per_rank = 1;
  for (RankRun& run : runs) {
    std::set<std::int32_t> held;
    for (const TracedAction& work : run.work) held.insert(static_cast<std::int32_t>(work.action.stage));
    run.rank = *held.begin();
    stages = std::max({stages, run.stages, *held.rbegin() + 1});
    per_rank = std::max(per_rank, held.size());
  }
  std::int32_t world = stages / static_cast<std::int32_t>(per_rank);
  for (const RankRun& run : runs) world = std::max(world, run.rank + 1);
  for (RankRun& run : runs) run.world_size = world;
}

void set_stage(std::vector<TracedAction>& actions, std::int32_t stage) {
  for (TracedAction& action : actions) action.action.stage = StageId{stage};
}

/// One stage each, `rank` of `world`.
void set_rank(RankRun& run, std::int32_t rank, std::int32_t world) {
  run.rank = rank;
  run.world_size = world;
  run.stages = world;
  set_stage(run.work, rank);
  set_stage(run.messages, rank);
}

/// Returns when the forwards of a rank ended, in order.
std::vector<std::int64_t> forward_ends(const RankRun& run) {
  std::vector<std::int64_t> ends;
  for (const TracedAction& work : run.work) {
    if (work.action.op == Op::kF) ends.push_back(work.end_ns);
  }
  std::ranges::sort(ends);
  return ends;
}

/// Every forward ends on a rank before it ends on the next one.
void rank_by_forwards(std::vector<RankRun>& runs) {
  std::ranges::stable_sort(runs, {}, forward_ends);
  const auto world = static_cast<std::int32_t>(runs.size());
  for (std::int32_t rank = 0; rank < world; ++rank) {
    RankRun& run = runs[static_cast<std::size_t>(rank)];
    set_rank(run, rank, world);
    if (rank == 0) continue;
    const RankRun& before = runs[static_cast<std::size_t>(rank) - 1];
    const std::vector<std::int64_t> earlier = forward_ends(before);
    const std::vector<std::int64_t> later = forward_ends(run);
    const auto is_earlier = [](std::int64_t one, std::int64_t other) { return one < other; };
    if (std::ranges::equal(earlier, later, is_earlier)) continue;
    throw Error(run.file + ": some of its forwards end before those of " + before.file +
                ", others behind them, so that the order of their ranks is not known; expected the processes of one "
                "pipeline on clocks that agree");
  }
}

void rank_by_warmup(std::vector<RankRun>& runs) {
  const auto world = static_cast<std::int32_t>(runs.size());
  std::ranges::stable_sort(runs, std::ranges::greater(), warmup_forwards);
  // The last rank of 1F1B turns to its first backward at once; with several stages it first runs all but its last one.
  const std::int32_t last_warmup = warmup_forwards(runs.back()) - 1;
  const std::int32_t more = world > 1 && last_warmup % world == 0 ? last_warmup : 0;
  for (std::int32_t rank = 0; rank < world; ++rank) {
    RankRun& run = runs[static_cast<std::size_t>(rank)];
    const std::int32_t forwards = warmup_forwards(run);
    const std::int32_t expected = more > 0 ? 2 * (world - rank - 1) + more + 1 : world - rank;
    if (forwards != expected) {
      throw Error(run.file + ": runs " + std::to_string(forwards) + " forwards before its first backward, expected " +
                  std::to_string(expected) + " of rank " + std::to_string(rank) + " of " + std::to_string(world) +
                  " that run " + (more > 0 ? "interleaved " : "") +
                  "1F1B; give the processes of one pipeline, all of them");
    }
    set_rank(run, rank, world);
  }
}

}  // namespace

void rank_processes(std::vector<RankRun>& runs) {
  if (runs.empty() || std::ranges::none_of(runs, [](const RankRun& r) { return r.rank == RankTrace::kUnknown; }))
    return;
  for (const RankRun& run : runs) {
    if (run.rank == RankTrace::kUnknown && run.numbering == runs.front().numbering) continue;
    throw Error(run.file + ": is of another profiler or runtime than " + runs.front().file +
                ", expected the ranks of one run");
  }
  if (runs.front().numbering == Numbering::kCounted) {
    rank_by_warmup(runs);
  } else if (runs.front().runtime == "pytorch-single") {
    rank_by_forwards(runs);
  } else {
    rank_by_stage(runs);
  }
}

}  // namespace plumb
