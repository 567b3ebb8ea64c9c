#pragma once

#include <cstdint>
#include <string>

#include "sim/timeline/timeline.hpp"

namespace plumb::testing {

/// A pipeline run made without the simulator, for tests of what reads timelines: one stage per device, 1F1B order.
struct SyntheticRun {
  std::string name = "1f1b";
  int devices = 4;
  int microbatches = 8;
  bool all_forwards_first = false;  ///< GPipe order
  Ticks forward_ns = 1'000'000;
  Ticks backward_ns = 2'000'000;
  Ticks update_ns = 500'000;
  Ticks transfer_ns = 0;  ///< 0: values arrive at once and there are no transfer spans
  double noise = 0;       ///< durations vary by up to this share, the same way in every call
  Timeline::Kind kind = Timeline::Kind::kSimulated;
};

/// Spans, memory curve and all figures of the run. Same input, same result.
Timeline synthetic_timeline(const SyntheticRun& run);

}  // namespace plumb::testing
