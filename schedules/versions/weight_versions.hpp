#pragma once

#include <cstdint>
#include <vector>

#include "schedules/document/schedule.hpp"
#include "schedules/program/program.hpp"

namespace plumb {

/// Which version of its weights every instr reads, and which old versions must therefore be kept.
struct WeightVersions {
  std::vector<std::int32_t> read;  ///< by instr: updates done before the version came to be; -1: reads none
  std::vector<KeptVersion> kept;   ///< by holder, then version
};

/// Computed from the order of actions and updates in the lanes of `program` (instrs, rows and holders must be there; F,
/// B, I and R read weights). The latest version at an instr counts the updates of its holder that stand before it; the
/// members of an overlapped pair read before any update.
///
/// | policy | F | B, I, R |
/// |---|---|---|
/// | flush, latest, predicted | latest | latest |
/// | stash | latest | that of the microbatch's F on the stage |
/// | vertical_sync | that of the microbatch's F on the first stage (`first_stages`) | the same |
/// | double_buffer, delay d | max(update of the microbatch - d, 0) (double_buffer: d = 1) | the same |
///
/// With phases, the policy is that of the phase of the microbatch's update. A SYNC_WEIGHTS makes no version: it changes
/// the one that the update before it made.
/// U reads what the forwards of its microbatches read where a method of the document looks back at it; they must agree.
/// Throws `Error` when a version is read before it exists, naming the action and the smallest legal delay.
WeightVersions weight_versions(const Schedule& schedule, const Program& program);

/// By instr: for F, B, I, W and R the version that the forward of their (first) microbatch read on the holder;
/// otherwise -1.
std::vector<std::int32_t> forward_versions(const Program& program);

}  // namespace plumb
