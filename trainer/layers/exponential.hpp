#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace plumb {

/// e^x in float, within 2 ulp, as plain arithmetic that the compiler can vectorise: the same bits for an element
/// wherever it stands in a row. What is no number stays none. Coefficients: Cephes `expf` (S. Moshier, public domain).
/// Saturates outside [-87, 88].
inline float exponential(float x) {
  x = x < -87.0F ? -87.0F : x;
  x = x > 88.0F ? 88.0F : x;
  constexpr float kRound = 12582912.0F;                     // 1.5 * 2^23: adding it rounds to the nearest whole number
  const float shifted = x * 1.44269504088896341F + kRound;  // its last bits are the whole number, whatever x is
  const float n = shifted - kRound;
  const float r = (x - n * 0.693359375F) + n * 2.12194440e-4F;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  const std::uint32_t whole = std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(kRound);
  const float power = std::bit_cast<float>((whole + 127U) << 23U);
  return (p * r * r + r + 1.0F) * power;
}

inline double exponential(double x) { return std::exp(x); }

/// 1 / (1 + e^-x).
template <class T>
T logistic(T x) {
  return T(1) / (T(1) + exponential(-x));
}

}  // namespace plumb
