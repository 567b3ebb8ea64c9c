#pragma once

#include <cstdint>
#include <vector>

#include "schedules/program/program.hpp"

namespace plumb {

/// What every action of a row adds to the stash of its device, so that the peak follows from order alone.
///
/// In abstract memory (`Program::memory_units_per_one`) the units are the program's: F adds what it makes, I and W what
/// they make less what dies with them, B all of both. Otherwise they are stashes of one stage and microbatch: F adds
/// one, B or (split) W takes it away; in a segment of recompute F adds the input (of the first stage) and R what it
/// makes. In a forward-only program F drops at its end what it adds.
struct StashChanges {
  std::vector<std::int64_t> by_row;
  std::int64_t per_one = 1;  ///< `by_row` over this is the change in stashes or abstract units
  bool dropped = false;      ///< what a row adds is there only while it runs

  /// What is left of a row's change after it.
  std::int64_t left(std::uint32_t row) const { return dropped ? 0 : by_row[row]; }

  /// A peak in the units of a report.
  double in_units(std::int64_t peak) const { return static_cast<double>(peak) / static_cast<double>(per_one); }
};

StashChanges stash_changes(const Program& program);

}  // namespace plumb
