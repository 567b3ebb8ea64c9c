#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "tests/cuda_kernels/device.hpp"
#include "trainer/ground/random.hpp"
#include "trainer/numbers/number.hpp"

namespace plumb::kernels {

/// Numbers on the device.
template <class T>
class DeviceBuffer {
 public:
  /// `misaligned`: they begin at a number that is no multiple of 16 bytes.
  explicit DeviceBuffer(std::size_t count, bool misaligned = false)
      : bytes_(count * sizeof(T), misaligned ? sizeof(T) : 0), count_(count) {}
  explicit DeviceBuffer(std::span<const double> values, bool misaligned = false)
      : DeviceBuffer(values.size(), misaligned) {
    set(values);
  }

  /// For kernels.
  T* data() const { return reinterpret_cast<T*>(bytes_.begin()); }
  std::size_t count() const { return count_; }
  bool intact() const { return bytes_.intact(); }
  /// For the host, when everything that was launched is done.
  std::span<const T> read() const {
    finish();
    return {data(), count_};
  }

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
    std::vector<double> result;
    for (const T& number : read()) {
      if constexpr (std::is_same_v<T, double> || std::is_integral_v<T>) {
        result.push_back(static_cast<double>(number));
      } else {
        result.push_back(static_cast<double>(to_float(number)));
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
