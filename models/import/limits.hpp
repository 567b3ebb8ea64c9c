#pragma once

namespace plumb {

// What a number of an imported file can be at most; beyond, sums of many would leave 64-bit integers.
inline constexpr double kMostImportedMs = 1e9;  ///< eleven days
inline constexpr double kMostImportedBytes = 1e15;

}  // namespace plumb
