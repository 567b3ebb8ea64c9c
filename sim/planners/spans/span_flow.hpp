#pragma once

#include <cstdint>
#include <span>

#include "sim/planners/spans/swarm_of_devices.hpp"

namespace plumb {

/// A server of a flow.
struct FlowServer {
  BlockSpan span;
  double rate = 0;  ///< microbatches per second through its whole span
};

/// The largest flow of microbatches per second through all of `blocks`, each server no faster than its rate, and each
/// connection no faster than `link_rate`: from the end of a span to every span that holds the next block. An exact
/// maximum flow in thousandths of a microbatch per hour.
double span_flow(std::int32_t blocks, std::span<const FlowServer> servers, double link_rate);

}  // namespace plumb
