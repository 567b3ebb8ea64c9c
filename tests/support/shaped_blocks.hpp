#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "models/sources/abstract_costs.hpp"
#include "sim/order_search/schedule_blocks.hpp"
#include "sim/order_search/shapes.hpp"

namespace plumb::testing {

constexpr Ticks kShapeUnit = 1'000'000;  ///< of abstract costs that are whole

/// Costs of the blocks of a shape. Without `memory`, passes of shared blocks keep a stash, too.
struct ShapeCosts {
  std::string times = "F=1,B=2,S=1,T=1";
  std::string memory = "F=1,B=-1";
};

/// A shape as a document without orders, and as a problem.
struct ShapedBlocks {
  Schedule frame;
  StageCosts costs;
  BlockProblem problem;
};

inline ShapedBlocks shaped_blocks(const std::string& shape, std::int32_t devices, std::int64_t microbatches,
                                  double limit, const ShapeCosts& costs = {}, bool split = false) {
  ShapedBlocks made{.frame = shape_frame(shape, devices, microbatches), .costs = {}, .problem = {}};
  made.costs = abstract_costs(costs.times, costs.memory,
                              {.num_stages = made.frame.num_stages, .shares = shares_of_blocks(made.frame)});
  made.problem = schedule_blocks(made.frame, {.stages = made.costs, .memory_limit = limit, .split = split});
  return made;
}

}  // namespace plumb::testing
