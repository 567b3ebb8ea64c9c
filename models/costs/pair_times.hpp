#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "models/ground/units.hpp"

namespace plumb {

/// Passes whose overlapped pairs can have a time of their own, by the letters of their ops
/// (schedules/document/action.hpp).
inline constexpr std::string_view kPairedPasses = "FBIWR";

/// Names of the pairs of two passes, in the order in which `PairTimes` holds them.
inline constexpr std::array<std::string_view, 15> kPairNames{"FF", "FB", "FI", "FW", "FR", "BB", "BI", "BW",
                                                             "BR", "II", "IW", "IR", "WW", "WR", "RR"};

/// Communication within a pass, such as the all-reduces of tensor ranks: beside it the other half of a pair computes.
struct CommTime {
  Ticks all = 0;    ///< on the links
  Ticks shown = 0;  ///< the part of it during which the pass, alone, computes nothing; contained in its time

  friend bool operator==(const CommTime&, const CommTime&) = default;
};

/// Times of the overlapped pairs of a stage's passes; 0: not given, the two halves say how long the pair takes.
struct PairTimes {
  std::array<Ticks, kPairNames.size()> ticks{};

  /// Returns where the pair of two passes stands, in either order. A pass is its place in `kPairedPasses`.
  static constexpr std::size_t place(std::size_t one, std::size_t other) {
    if (one > other) std::swap(one, other);
    return one * kPairedPasses.size() - one * (one + 1) / 2 + other;
  }

  friend bool operator==(const PairTimes&, const PairTimes&) = default;
};

}  // namespace plumb
