#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <vector>

#if defined(PLUMB_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#endif

#include "trainer/ground/random.hpp"
#include "trainer/numbers/number.hpp"

namespace plumb::kernels {

/// Memory of the emulated device between two red zones: NaN to whoever reads them, and out of bounds to the address
/// sanitizer. Starts as NaN.
class DeviceBytes {
 public:
  explicit DeviceBytes(std::size_t bytes)
      : bytes_(bytes), all_(::operator new (bytes + 2 * kZone, std::align_val_t{256})) {
    std::memset(all_.get(), 0xFF, bytes + 2 * kZone);
#if defined(PLUMB_ADDRESS_SANITIZER)
    ASAN_POISON_MEMORY_REGION(all_.get(), kZone);
    ASAN_POISON_MEMORY_REGION(begin() + (bytes_ + 7) / 8 * 8, kZone - 8);
#endif
  }
  DeviceBytes(DeviceBytes&&) = default;
  DeviceBytes& operator=(DeviceBytes&&) = default;

  std::byte* begin() const { return static_cast<std::byte*>(all_.get()) + kZone; }
  std::size_t size() const { return bytes_; }

  /// Whether nobody wrote into the zones.
  bool intact() const {
#if defined(PLUMB_ADDRESS_SANITIZER)
    return true;  // a write would have ended the program
#else
    const auto untouched = [](const std::byte* from, std::size_t count) {
      return std::all_of(from, from + count, [](std::byte b) { return b == std::byte{0xFF}; });
    };
    return untouched(begin() - kZone, kZone) && untouched(begin() + bytes_, kZone);
#endif
  }

 private:
  static constexpr std::size_t kZone = 256;
  struct Free {
    void operator()(void* at) const { ::operator delete (at, std::align_val_t{256}); }
  };
  std::size_t bytes_;
  std::unique_ptr<void, Free> all_;
};

/// Numbers on the emulated device.
template <class T>
class DeviceBuffer {
 public:
  explicit DeviceBuffer(std::size_t count) : bytes_(count * sizeof(T)), count_(count) {}
  explicit DeviceBuffer(std::span<const double> values) : DeviceBuffer(values.size()) { set(values); }

  T* data() const { return reinterpret_cast<T*>(bytes_.begin()); }
  std::size_t count() const { return count_; }
  bool intact() const { return bytes_.intact(); }

  void set(std::span<const double> values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if constexpr (std::is_same_v<T, double> || std::is_integral_v<T>) {
        data()[i] = static_cast<T>(values[i]);
      } else {
        data()[i] = from_float<T>(static_cast<float>(values[i]));
      }
    }
  }
  std::vector<double> values() const {
    std::vector<double> result(count_);
    for (std::size_t i = 0; i < count_; ++i) {
      if constexpr (std::is_same_v<T, double> || std::is_integral_v<T>) {
        result[i] = static_cast<double>(data()[i]);
      } else {
        result[i] = static_cast<double>(to_float(data()[i]));
      }
    }
    return result;
  }

 private:
  DeviceBytes bytes_;
  std::size_t count_;
};

/// Normally distributed numbers that float and bf16 hold exactly.
inline std::vector<double> random_numbers(std::size_t count, std::uint64_t seed, double deviation = 1) {
  Random random(seed);
  std::vector<double> values(count);
  for (double& value : values) {
    value = static_cast<double>(to_float(to_bfloat16(static_cast<float>(deviation * random.normal()))));
  }
  return values;
}

/// ||a - b|| / ||b||; NaN counts as infinitely far.
inline double distance(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size()) return INFINITY;
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  const double result = std::sqrt(difference / (norm > 0 ? norm : 1));
  return std::isnan(result) ? INFINITY : result;
}

}  // namespace plumb::kernels
