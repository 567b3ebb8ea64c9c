#include "sim/traces/chunk_placement.hpp"

#include <utility>

#include "models/ground/error.hpp"
#include "sim/traces/clocks.hpp"
#include "sim/traces/producers.hpp"

namespace plumb {
namespace {

/// Odd chunks count the ranks backwards.
std::vector<RankRun> folded_back(std::vector<RankRun> runs) {
  for (RankRun& run : runs) {
    for (TracedAction& work : run.work) {
      const auto stage = static_cast<std::int32_t>(work.action.stage);
      const std::int32_t chunk = stage / run.world_size;
      if (chunk % 2 == 1) work.action.stage = StageId{(2 * chunk + 1) * run.world_size - 1 - stage};
    }
  }
  return runs;
}

/// Returns whether every value can have been used after it was made.
bool is_causal(const std::vector<RankRun>& runs) {
  const TracedProducers producers(runs);
  for (std::size_t rank = 0; rank < runs.size(); ++rank) {
    for (std::size_t at = 0; at < runs[rank].work.size(); ++at) {
      const auto producer = producers.of(runs[rank].work[at]);
      if (producer && producer->rank == rank && producer->at > at) return false;
    }
  }
  for (std::int32_t step = 0; step < runs.front().steps; ++step) {
    if (clock_offsets(message_slacks(runs, producers, step)).residual_ns > kClockNoiseNs) return false;
  }
  return true;
}

}  // namespace

void place_chunks(std::vector<RankRun>& runs) {
  const RankRun& first = runs.front();
  if (!first.numbers_chunks || first.world_size < 2) return;
  std::vector<RankRun> folded = folded_back(runs);
  const bool goes_round = is_causal(runs);
  const bool folds_back = is_causal(folded);
  if (goes_round && folds_back) {
    throw Error(first.file +
                ": the times do not tell whether chunks go round the ranks or fold back (V); expected all ranks");
  }
  if (!goes_round && !folds_back) {
    throw Error(first.file +
                ": neither with chunks that go round the ranks nor with chunks that fold back (V) is every value used "
                "after it was made; expected one of these placements");
  }
  if (folds_back) runs = std::move(folded);
}

}  // namespace plumb
