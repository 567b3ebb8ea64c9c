#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/costs/memory_class.hpp"
#include "models/ground/units.hpp"

namespace plumb {

/// Bytes of one class alive on a device from `time` on. Two words, because a curve has several points per action.
class MemoryPoint {
 public:
  static constexpr std::int64_t kMostBytes = INT64_MAX >> 4U;

  MemoryPoint() = default;
  MemoryPoint(Ticks time, MemoryClass cls, std::int64_t bytes)
      : time_(time), bytes_and_class_(bytes << 4U | static_cast<std::int64_t>(cls)) {}

  Ticks time() const { return time_; }
  MemoryClass cls() const { return static_cast<MemoryClass>(bytes_and_class_ & 0xF); }
  std::int64_t bytes() const { return bytes_and_class_ >> 4U; }

  friend bool operator==(const MemoryPoint&, const MemoryPoint&) = default;

 private:
  Ticks time_ = 0;
  std::int64_t bytes_and_class_ = 0;
};

/// Memory over time of all devices.
struct MemoryCurves {
  std::vector<MemoryPoint> points;  ///< by device, then time
  std::vector<std::size_t> ends;    ///< by device: one past its last point

  bool empty() const { return points.empty(); }
  std::span<const MemoryPoint> of(std::size_t device) const {
    const std::size_t begin = device == 0 ? 0 : ends[device - 1];
    return std::span(points).subspan(begin, ends[device] - begin);
  }

  friend bool operator==(const MemoryCurves&, const MemoryCurves&) = default;
};

}  // namespace plumb
