#pragma once

#include <cstdint>

namespace plumb {

/// Over how many neighbours of the ranks that hold the same weights ZeRO shards what it shards of each; every such
/// group has all of it between its members. 0: over all ranks. Of equal numbers the groups are those of MiCS, of
/// different ones those of AMSP (Chen et al., arXiv 2311.00257).
struct ShardGroups {
  std::int64_t weights = 0;
  std::int64_t gradients = 0;
  std::int64_t optimizer = 0;

  /// Makes groups of one size for all three.
  static constexpr ShardGroups of(std::int64_t ranks) { return {ranks, ranks, ranks}; }
  bool any() const { return weights != 0 || gradients != 0 || optimizer != 0; }
  friend bool operator==(const ShardGroups&, const ShardGroups&) = default;
};

}  // namespace plumb
