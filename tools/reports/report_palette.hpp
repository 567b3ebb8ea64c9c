#pragma once

#include <array>
#include <string_view>

#include "models/costs/memory_class.hpp"
#include "schedules/document/action.hpp"
#include "sim/timeline/timeline.hpp"

namespace plumb {

/// Fills of the ops, by `Op`. Forward is cool and backward warm. R, F, I, B, W become brighter by half each time, so
/// they differ on paper without colours and for readers who see few of them; B stands between its halves I and W.
inline constexpr std::array<std::string_view, kOpCount> kOpColours{
    "#2a5cb0", "#f0943f", "#dd5b50", "#f6cf6d", "#4b2f8a", "#54687f", "#66788f", "#9aa7b5", "#7fb0f0", "#7fb0f0",
    "#f4b98a", "#f4b98a", "#bfa8ea", "#bfa8ea", "#2fa59a", "#61c2b9", "#61c2b9", "#2fa59a", "#b58a6a", "#b58a6a"};

/// Fills of idle time, by `IdleCause`: grey for warm-up and drain, colours for waiting. Bars stack them in this order,
/// so those that are one or two apart differ in brightness, on paper without colours, too.
inline constexpr std::array<std::string_view, kIdleCauseCount> kIdleColours{
    "#cdd5de", "#93a2b4", "#5b6f86", "#f2b8c8", "#d9708c", "#8c1d49", "#63c7bd", "#6f4cc2", "#38424e", "#d9c970"};

/// Fills of memory, by `MemoryClass`: those that lie on each other in a curve differ in brightness.
inline constexpr std::array<std::string_view, kMemoryClassCount> kMemoryColours{
    "#24406f", "#b4cdf2", "#2f9e8f", "#0f4a44", "#f6b36b", "#b8552a", "#6b1f4a", "#dfe5ec", "#8f6fd6"};

/// Lines of diagrams, in the order of series.
inline constexpr std::array<std::string_view, 12> kPlotColours{"#3f7ddb", "#dd5b50", "#2fa59a", "#ee8a3c",
                                                               "#8f6fd6", "#54687f", "#d9708c", "#9a7b1f",
                                                               "#61a045", "#b58a6a", "#6b1f4a", "#b3c332"};

/// Names for people, where the names of the formats are too terse.
inline constexpr std::array<std::string_view, kOpCount> kOpTitles{"forward",
                                                                  "backward",
                                                                  "input gradient",
                                                                  "weight gradient",
                                                                  "recompute",
                                                                  "update",
                                                                  "post-validation",
                                                                  "extra work",
                                                                  "send activation",
                                                                  "receive activation",
                                                                  "send gradient",
                                                                  "receive gradient",
                                                                  "send recompute",
                                                                  "receive recompute",
                                                                  "reduce gradients",
                                                                  "unshard",
                                                                  "reshard",
                                                                  "sync weights",
                                                                  "evict",
                                                                  "load"};

inline constexpr std::array<std::string_view, kIdleCauseCount> kIdleTitles{"warm-up",
                                                                           "drain",
                                                                           "another device computes",
                                                                           "transfer: latency",
                                                                           "transfer: bandwidth",
                                                                           "transfer: link busy with another message",
                                                                           "collective or update",
                                                                           "memory limit",
                                                                           "runtime overhead",
                                                                           "a rank without a trace"};

inline constexpr std::array<std::string_view, kMemoryClassCount> kMemoryTitles{"weights",
                                                                               "weight versions",
                                                                               "gradients",
                                                                               "optimizer state",
                                                                               "kept for input gradient",
                                                                               "kept for weight gradient",
                                                                               "transfer buffers",
                                                                               "workspace",
                                                                               "evicted"};

}  // namespace plumb
