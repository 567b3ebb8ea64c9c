#pragma once

#include <cstdint>
#include <string>

#include "models/network/network.hpp"
#include "models/stages/partition.hpp"
#include "tools/measured_steps/measured_step.hpp"

namespace plumb {

/// Returns the transformer layers of `network` as the source of `row` deals them out to `stages` stages: evenly; with
/// other numbers on the first and last stage where it states them; or, for "layers redistributed", as many on the last
/// stage as its head leaves of an equal share of the FLOPs (rounded up), the rest evenly with the longer stages at the
/// end. Where there are two more stages than layers, embedding and head have stages of their own (the interleaved runs
/// of the zero-bubble paper). With a `layout` (`RecipeFacts`) its stages have as many layers as it has t, and further
/// tokens stand on the last one. Throws `Error` where it has not so many stages, or other layers than the network.
Partition step_partition(const MeasuredStep& row, const Network& network, std::int32_t stages,
                         const std::string& layout = {});

}  // namespace plumb
