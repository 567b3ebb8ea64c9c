#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace plumb {

/// Whether the memory of a device is enough, as far as predictions of memory can say.
enum class MemoryVerdict : std::uint8_t { kUnknown, kFits, kTight, kExceeds };

/// Names used in JSON and texts, indexed by verdict.
inline constexpr std::array<std::string_view, 4> kMemoryVerdictNames{"the limit is not known", "fits", "tight",
                                                                     "does not fit"};

constexpr std::string_view verdict_word(MemoryVerdict verdict) {
  return kMemoryVerdictNames[static_cast<std::size_t>(verdict)];
}

/// Bytes that a device needs at its peak: its tensors, what the allocator holds beside them, context and libraries.
struct MemoryNeed {
  std::int64_t limit_bytes = 0;  ///< 0: not known
  std::int64_t needed_bytes = 0;
  std::int64_t least_bytes = 0;  ///< within the error that was measured, from here ...
  std::int64_t most_bytes = 0;   ///< ... to here

  /// Whether no more than the limit is expected: the job fits, or it is tight.
  bool fits() const { return limit_bytes == 0 || needed_bytes <= limit_bytes; }
  /// Fits even with the largest error; tight: the limit is within the error; does not fit even with the least.
  MemoryVerdict verdict() const {
    if (limit_bytes == 0) return MemoryVerdict::kUnknown;
    if (most_bytes <= limit_bytes) return MemoryVerdict::kFits;
    return least_bytes <= limit_bytes ? MemoryVerdict::kTight : MemoryVerdict::kExceeds;
  }

  friend bool operator==(const MemoryNeed&, const MemoryNeed&) = default;
};

}  // namespace plumb
