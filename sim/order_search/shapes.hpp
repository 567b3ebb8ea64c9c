#pragma once

#include <cstdint>
#include <string_view>

#include "sim/order_search/block_problem.hpp"

namespace plumb {

/// Times and stashes of the passes of `shape_blocks`.
struct ShapeCosts {
  Ticks forward = 1;
  Ticks backward = 2;
  Ticks shared_forward = 1;  ///< of a block that all devices compute together
  Ticks shared_backward = 1;
  std::int64_t shared_stash = 0;
};

/// Placements of stages and of blocks that all devices compute at once, by the letters of Tessel (Lin et al., arXiv
/// 2311.15269; github.com/zhiqi-0/Tessel), each pass on one device keeping 1 from forward to backward:
///
/// - "v": a chain down the devices, whose backward comes back;
/// - "x": two chains in opposite directions;
/// - "m": a shared block, then v, then the shared block's backward;
/// - "nn": shared, forwards of the first half of the devices, shared, those of the second half (an encoder and a
///   decoder);
/// - "k": two branches, each on one half of the devices, joined by a shared block;
/// - "interlaced" (not Tessel's): shared embedding, v, shared loss, with backwards of both.
///
/// Throws `Error` for other names, and for an odd number of devices with "nn" and "k".
BlockProblem shape_blocks(std::string_view shape, std::int32_t num_devices, std::int64_t limit,
                          const ShapeCosts& costs);

}  // namespace plumb
