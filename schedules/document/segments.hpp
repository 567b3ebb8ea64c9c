#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedules/document/schedule.hpp"

namespace plumb {

/// The place of a stage in a segment of recomputation (`Recompute::segment`): of several stages in a row only the first
/// keeps its input. Before the backwards, the forwards of the segment are run again, R by R; each R takes its input
/// from the R of the stage before.
struct SegmentPlace {
  bool takes = false;   ///< the R takes its input from that of the stage before; the F keeps nothing
  bool passes = false;  ///< the R makes the stage's output for that of the next stage

  bool inside() const { return takes || passes; }
};

/// By stage; empty when no segment has several stages.
std::vector<SegmentPlace> segment_places(const Schedule& schedule);

/// What is wrong with the segments of a schedule; empty when nothing is.
std::string segment_fault(const Schedule& schedule);

}  // namespace plumb
