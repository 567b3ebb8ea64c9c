#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/sources/run_profile.hpp"

namespace plumb {

/// What is known of a traced run beside the one step that a timeline shows.
struct TracedFacts {
  std::vector<std::int64_t> step_ns = {};          ///< length of every traced step
  std::int32_t step = 0;                           ///< the one that the timeline shows
  std::vector<std::int32_t> disturbed_steps = {};  ///< those that are in no mean (`calm_steps`), ascending
  std::vector<std::int32_t> ranks = {};            ///< of each device
  std::vector<std::int32_t> missing_ranks = {};  ///< of those, the ones without a trace; their devices are not `known`
  std::vector<std::int64_t> clock_offsets_ns = {};  ///< what was added to the times of each device, in this step
  std::int64_t clock_residual_ns = 0;               ///< by how much a message still arrives before it was sent
  std::string backend = {};                         ///< what the ranks talk by: "gloo", "nccl"; empty: not told
  std::vector<std::string> left_out = {};           ///< sentences: what of the traces is in no step or mean
  std::optional<RunProfile> profile = {};           ///< what the undisturbed steps cost; none where no profile is known

  friend bool operator==(const TracedFacts&, const TracedFacts&) = default;
};

}  // namespace plumb
