#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/costs/stage_costs.hpp"
#include "models/costs/vocabulary_stages.hpp"

namespace plumb {

struct AbstractCostOptions {
  std::int32_t num_stages = 1;
  /// So many stages together cost and hold what is given, `shares_together` times; each has exactly an equal part. 1
  /// and 1: what is given is that of one stage. `comm` is never divided.
  std::int32_t stages_together = 1;
  std::int32_t shares_together = 1;
  /// The schedule recomputes: R defaults to F instead of 0.
  bool recompute = false;
  /// Stages that take S and T (and those of the embedding and of the loss: nothing) instead of F, I and W.
  std::optional<VocabularyStages> vocabulary{};
  /// Stages that are shares of blocks of several devices at once: they take S and T, too, and no units of memory.
  std::vector<StageId> shares{};
};

/// Costs in abstract units, one unit = 1 ms: `F=1,I=0.5,W=1/3,comm=0.1`. Papers and closed forms use such units.
///
/// `times`: keys F B I W R U X AR EVICT LOAD S T comm F.comm I.comm and those of pairs (`kPairNames`), each at most
/// once; decimals and fractions, at least 0, those of pairs above 0. B = I + W. Given B, a missing I or W is B minus
/// the other, and half of B when both are missing; without B, a missing I or W is 0. R defaults to F with recompute;
/// all else to 0. F.comm and I.comm are the communication of a forward (and a recompute) and of an input gradient, on
/// top of F, R and I. B hides that of I in W: it takes I + max(I.comm, W). FF, FB, FI, FW and the like are times of
/// overlapped pairs; without one, see `schedules/lowering/pair_cost.hpp`.
///
/// S and T are the passes of a share, of the head where the vocabulary is divided, or of a block that several devices
/// compute at once: its F takes S, its B and W take T.
///
/// `memory`: changes of the stash, `F=1,I=0,W=-1` (key B for I when passes are never split); must add up to 0, F >= 0,
/// W <= 0. What I frees was kept for I; what I adds was made by I for W; the rest of F was kept for W. Empty:
/// memory is not modelled.
///
/// All values are scaled by one common denominator, so thirds stay exact (`Timebase::ticks_per_ns`,
/// `StageCosts::memory_units_per_one`). Throws `Error` for contradictions, unknown keys (with the nearest), negative
/// times and values that no 64-bit clock can hold.
StageCosts abstract_costs(std::string_view times, std::string_view memory, const AbstractCostOptions& options);

}  // namespace plumb
