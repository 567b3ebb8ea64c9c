#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "models/costs/stage_costs.hpp"
#include "schedules/document/schedule.hpp"

// Orders with overlapped pairs, made of others: where steps begin.

namespace plumb {

/// `schedule` with plain lists in which, from the front of each, two neighbours of different microbatches are a pair
/// where that saves time. Nothing where no two of them do.
std::optional<Schedule> with_paired_neighbours(const Schedule& schedule, const StageCosts& costs);

/// How many forwards a device does before its pairs.
struct BeforePairs {
  bool twice = false;     ///< about twice as many as before the first backward of its list (2 n - 1), otherwise as many
  std::int64_t most = 0;  ///< forwards that the device may have begun and not taken back; 0: any number
  bool plain = false;     ///< where that are fewer: as many, and no pairs; otherwise pairs, and fewer the further back
};

/// The most forwards of a device before its first backward (and before the pair that this is in), where lists hold
/// only forwards, whole backwards and what stands behind all of them; otherwise 0.
std::int64_t most_before_backwards(const Schedule& schedule);

/// Such a schedule with forwards, pairs of the next forward and the next backward, and backwards, on every device;
/// either in the order of its list. (1F1B becomes 1f1b-overlap with `twice`.)
Schedule with_pairs_behind(const Schedule& schedule, const BeforePairs& before);

/// Gives orders with pairs that are made of `schedule`, named after it, to `fits`, which says whether they do: with its
/// neighbours in pairs, and pairs behind its forwards, as many as before or twice as many; where so many do not fit, as
/// many as do, and fewer. One that has pairs, and is taken to be known, only with fewer forwards before them.
void try_in_pairs(const Schedule& schedule, const std::string& name, const StageCosts& costs,
                  const std::function<bool(const std::string&, const Schedule&)>& fits);

}  // namespace plumb
