#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace plumb {

/// Integer time. Equal inputs give equal timelines because time is never a floating-point number.
///
/// One tick is 1 / `Timebase::ticks_per_ns` nanoseconds. The factor is 1 except for abstract costs such as
/// 1/3, which are scaled by a common denominator so that thirds stay exact.
using Ticks = std::int64_t;

/// How ticks relate to nanoseconds.
struct Timebase {
  std::int64_t ticks_per_ns = 1;

  friend bool operator==(const Timebase&, const Timebase&) = default;
};

/// Whole nanoseconds nearest to `ticks` (halves away from zero).
constexpr std::int64_t to_ns(Ticks ticks, Timebase base) {
  const std::int64_t half = base.ticks_per_ns / 2;
  return (ticks + (ticks < 0 ? -half : half)) / base.ticks_per_ns;
}

/// Dense, zero-based indices that cannot be passed in the wrong order.
enum class DeviceId : std::int32_t {};
enum class StageId : std::int32_t {};
enum class MicrobatchId : std::int32_t {};
enum class ReplicaId : std::int16_t {};

/// Returns the id as an array index.
template <class Id>
requires std::is_enum_v<Id>
constexpr std::size_t index(Id id) { return static_cast<std::size_t>(id); }

inline constexpr double kNsPerSecond = 1e9;
inline constexpr std::int64_t kTicksPerSecond = 1'000'000'000;

}  // namespace plumb
