#pragma once

#include <cstdint>
#include <vector>

#include "schedules/program/program.hpp"

namespace plumb {

/// What every action of a row adds to the stash of its device when it starts, and takes from it when it ends, so that
/// the peak follows from order alone. (sim/SPECIFICATION.md, §8.5)
///
/// In abstract memory (`Program::memory_units_per_one`) the units are the program's: F adds what it makes, and drops it
/// at its end where it is recomputed; then R adds it again, or the backward does. I adds what it makes. I, W and B take
/// away what dies with them. Otherwise the units are stashes of one stage and microbatch: F adds one, B or (split) W
/// takes it away, also where only the input is kept; in a segment of recompute F adds the input (of the first stage)
/// and R what it makes. In a forward-only program F drops at its end what it adds.
struct StashChanges {
  std::vector<std::int64_t> at_start;  ///< by row, at least 0
  std::vector<std::int64_t> at_end;    ///< by row, at most 0
  std::int64_t per_one = 1;            ///< changes over this are in stashes or abstract units

  /// What is left of a row's change after it.
  std::int64_t net(std::uint32_t row) const { return at_start[row] + at_end[row]; }

  void add(std::int64_t start, std::int64_t end) {
    at_start.push_back(start);
    at_end.push_back(end);
  }

  /// A peak in the units of a report.
  double in_units(std::int64_t peak) const { return static_cast<double>(peak) / static_cast<double>(per_one); }
};

StashChanges stash_changes(const Program& program);

}  // namespace plumb
