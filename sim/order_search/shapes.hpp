#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "schedules/document/schedule.hpp"

namespace plumb {

/// The shapes of `shape_frame`.
inline constexpr std::array<std::string_view, 6> kBlockShapes{"v", "x", "m", "nn", "k", "interlaced"};

/// Placements of stages, and of blocks that all devices compute at once, by the letters of Tessel (Lin et al., arXiv
/// 2311.15269; github.com/zhiqi-0/Tessel), without an order of passes:
///
/// - "v": a chain down the devices, whose backward comes back;
/// - "x": two chains in opposite directions;
/// - "m": a shared block, then v, then the shared block's backward;
/// - "nn": shared, forwards of the first half of the devices, shared, those of the second half (an encoder and a
///   decoder);
/// - "k": two branches, each on one half of the devices, joined by a shared block;
/// - "interlaced" (not Tessel's): shared embedding, v, shared loss, with backwards of both.
///
/// Every device holds a share of a shared block, which is a stage of its own; all of them start together
/// (`Schedule::start_together`). Each share takes what the block takes; the next stage takes its value from the share
/// on its own device. Throws `Error` for other names, for an odd number of devices with "nn" and "k", and for one
/// device with any but "v".
Schedule shape_frame(std::string_view shape, std::int32_t num_devices, std::int64_t num_microbatches);

}  // namespace plumb
