#pragma once

#include <optional>
#include <vector>

#include "schedules/program/written_program.hpp"
#include "sim/passes/plain_passes.hpp"

namespace plumb {

/// As `run_totals`, but over lists whose repeats are not unfolded: it needs memory for what is written and for the
/// values that are under way, and what follows from the order alone is added up without running it. So it is a few
/// times as fast as the run of a whole program, whose memory has to be filled first.
///
/// Every lane runs until it needs a value that has not been given yet; whoever gives it wakes the lane. Each instr is
/// looked at once for every time that it runs, and once more where its lane has to wait.
///
/// Requires that no device has jitter or slows others down. Nothing when the lanes deadlock, or times could exceed
/// `kMostRun`: `lower` and `simulate` say why.
std::optional<std::vector<LaneTotals>> run_written(const WrittenProgram& written);

}  // namespace plumb
