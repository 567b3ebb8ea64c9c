#pragma once

#include <bit>
#include <cstdint>

#ifdef __CUDACC__
#define PLUMB_ANYWHERE __host__ __device__
#else
#define PLUMB_ANYWHERE
#endif

namespace plumb::kernels {

/// The upper half of a float: 8 bits of exponent, 7 of fraction. All arithmetic is done in float.
struct BFloat16 {
  std::uint16_t bits;

  friend bool operator==(const BFloat16&, const BFloat16&) = default;
};

PLUMB_ANYWHERE inline float to_float(float x) { return x; }
PLUMB_ANYWHERE inline float to_float(BFloat16 x) {
  const std::uint32_t bits = static_cast<std::uint32_t>(x.bits) << 16U;
#ifdef __CUDA_ARCH__
  return __uint_as_float(bits);
#else
  return std::bit_cast<float>(bits);
#endif
}

/// Rounds to the nearest, ties to even; NaN stays NaN.
PLUMB_ANYWHERE inline BFloat16 to_bfloat16(float x) {
#ifdef __CUDA_ARCH__
  std::uint16_t result = 0;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result) : "f"(x));
  return {result};
#else
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return {0x7FFF};
  return {static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U)};
#endif
}

template <class T>
PLUMB_ANYWHERE inline T from_float(float x);
template <>
PLUMB_ANYWHERE inline float from_float<float>(float x) {
  return x;
}
template <>
PLUMB_ANYWHERE inline BFloat16 from_float<BFloat16>(float x) {
  return to_bfloat16(x);
}

/// Numbers that one access of 16 bytes moves.
template <class T>
inline constexpr int kVector = static_cast<int>(16 / sizeof(T));

}  // namespace plumb::kernels
