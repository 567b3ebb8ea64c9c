#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/ground/units.hpp"
#include "models/stages/partition.hpp"

namespace plumb {

/// What limits a stage at its position: loads are divided by `speed`; held and kept bytes together may not exceed
/// `room_bytes`, of each microbatch in flight the kept ones.
struct StageRoom {
  double speed = 1.0;
  std::int64_t room_bytes = 0;  ///< 0: no limit
  std::int64_t in_flight = 1;
};

/// Layers of a chain as `balanced_cut` sees them.
struct LayerLoads {
  std::span<const Ticks> load{};
  std::span<const std::int64_t> held_bytes{};
  std::span<const std::int64_t> kept_bytes{};
  /// Where layers may run again: `kept_bytes` is what they keep then, this what that spares, and `again` what it takes.
  /// Empty: they may not.
  std::span<const std::int64_t> spared_bytes{};
  std::span<const Ticks> again{};
};

/// Returns the exact cut of the chain into `rooms.size()` stages whose slowest stage is as fast as possible among those
/// that fit, with as much of a stage run again as that needs; boundaries are as near to even shares of the load as that
/// allows. Empty when none fits.
///
/// The least bound on the slowest stage that is feasible is found by bisection; whether one is, by a dynamic program
/// over the ends that every stage can have (loads and bytes grow with the layers).
std::optional<Partition> balanced_cut(const LayerLoads& layers, std::span<const StageRoom> rooms);

/// Returns the number of cuts of `layers` layers into `stages` stages, at most `most` + 1.
std::int64_t count_cuts(std::size_t layers, std::size_t stages, std::int64_t most);

/// Returns all of them, in lexicographic order of the bounds.
std::vector<Partition> all_cuts(std::size_t layers, std::size_t stages);

/// Cuts near `partition`: one layer moved between any two stages, all stages between giving one on. With more than 12
/// stages only away from the `crowded` ones (indices of stages) or to any neighbour.
std::vector<Partition> near_cuts(const Partition& partition, std::span<const std::size_t> crowded);

}  // namespace plumb
