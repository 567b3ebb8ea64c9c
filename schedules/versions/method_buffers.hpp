#pragma once

#include <cstdint>
#include <vector>

#include "schedules/document/schedule.hpp"
#include "schedules/program/program.hpp"

namespace plumb {

/// What the buffers of a method depend on, for one holder. Delays are in updates, as means over the microbatches of an
/// update once the pipeline is full: PipeMare's tau. (Yang et al., arXiv 1910.05124, section 2)
struct MethodPlace {
  StageId stage{};
  ReplicaId replica{};
  double forward = 0;
  double backward = 0;
  double recompute = 0;             ///< that of the backward if nothing is recomputed
  double distance = 0;              ///< backwards between a microbatch's forward and its own: D
  std::int64_t predictions = 0;     ///< most predictions that are read by forwards whose backwards are still to come
  std::int64_t forward_ahead = 0;   ///< most updates that a forward predicts, ...
  std::int64_t backward_ahead = 0;  ///< ... a backward (schedules/versions/predicted_reads.hpp)
};

/// Buffers as large as the weights that `method` keeps for a holder, for the whole run.
std::int32_t buffers_of(const Method& method, const Schedule& schedule, const MethodPlace& place);

/// The places of the methods of every holder, in the order of `program.holders`.
std::vector<MethodPlace> method_places(const Schedule& schedule, const Program& program);

/// Fills in `Holder::correction_buffers`: those that the document names, a teacher's weights, and those of its methods.
/// The versions that actions read must be known. Throws `Error` for methods that contradict each other or the schedule.
void count_correction_buffers(const Schedule& schedule, Program& program);

}  // namespace plumb
