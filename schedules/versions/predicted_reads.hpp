#pragma once

#include <cstdint>
#include <vector>

#include "schedules/document/schedule.hpp"
#include "schedules/program/program.hpp"

namespace plumb {

/// What a pass reads where weights are predicted.
struct PredictedRead {
  std::int32_t steps = 0;   ///< updates ahead of the version that it reads
  std::int32_t number = 0;  ///< of the prediction that its microbatch's forward reads, on the holder, in order

  friend bool operator==(const PredictedRead&, const PredictedRead&) = default;
};

/// By instr, from the order of backwards and updates in the lanes; empty where no method predicts, or one does so once
/// per update (XPipe). Versions that instrs read must be known.
///
/// Published distances (`Weights::prediction`) are for one microbatch per update in 1F1B order, where an update follows
/// every backward. What they say in any order: a forward aims at its own backward (p - 1 - r), or so many backwards of
/// the stage after it as the published number is larger; a backward at so many after itself. The steps are the
/// updates that the stage makes until then, so they are those published in the published case, and about 1/N of them
/// with N microbatches per update. A method's parameter `published` keeps the published numbers whatever the order.
std::vector<PredictedRead> predicted_reads(const Schedule& schedule, const Program& program);

}  // namespace plumb
