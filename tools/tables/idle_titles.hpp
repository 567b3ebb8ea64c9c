#pragma once

#include <array>
#include <string_view>

#include "sim/timeline/timeline.hpp"

namespace plumb {

/// What a device waits for, in heads and rows of tables, in the order of `IdleCause`.
inline constexpr std::array<std::string_view, kIdleCauseCount> kIdleCauseTitles{
    "warm-up",    "drain",      "other device", "link latency", "link bandwidth",
    "link queue", "collective", "memory",       "runtime",      "missing rank"};

}  // namespace plumb
