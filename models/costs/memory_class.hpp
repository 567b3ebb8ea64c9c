#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace plumb {

/// What a byte on a device is used for. The simulator's curves and the trainer's arena count the same classes.
enum class MemoryClass : std::uint8_t {
  kWeights,
  kWeightVersions,  ///< older versions still to be read, and buffers of corrections
  kGradients,
  kOptimizer,
  kKeptForInputGrad,   ///< made by F, last read by I
  kKeptForWeightGrad,  ///< made by F or I, last read by W
  kTransfer,           ///< receive slots, send buffers, values handed over on the device
  kWorkspace,          ///< alive inside one action only
  kEvicted,            ///< stash of another device that is kept here (EVICT)
};

inline constexpr std::size_t kMemoryClassCount = 9;

/// Names used in JSON, tables and legends, indexed by class.
inline constexpr std::array<std::string_view, kMemoryClassCount> kMemoryClassNames{
    "weights",  "weight_versions", "gradients", "optimizer", "kept_for_input_grad", "kept_for_weight_grad",
    "transfer", "workspace",       "evicted"};

/// Bytes by class.
using MemoryByClass = std::array<std::int64_t, kMemoryClassCount>;

}  // namespace plumb
