#pragma once

#include <cstdint>
#include <limits>

namespace plumb {

/// The largest index and count that a schedule document may name, whatever its format.
inline constexpr std::int64_t kMostIndex = std::numeric_limits<std::int32_t>::max();
inline constexpr std::int64_t kMostDocumentDevices = 65536;
inline constexpr std::int64_t kMostDocumentStages = std::int64_t{1} << 20;

}  // namespace plumb
