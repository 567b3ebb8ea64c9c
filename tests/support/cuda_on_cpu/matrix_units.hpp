#pragma once

// The matrix units of trainer/cuda/kernels/products/matrix_units.cuh on the CPU, by the fragment layouts of the PTX
// manual.

#include <cstdint>
#include <stdexcept>

#include "tests/support/cuda_on_cpu/cuda_on_cpu.hpp"
#include "trainer/numbers/number.hpp"

namespace plumb::kernels {

inline std::uint32_t pair(float first, float second) {
  return to_bfloat16(first).bits | static_cast<std::uint32_t>(to_bfloat16(second).bits) << 16U;
}
/// Number `i` (0 or 1) of a pair.
inline float of_pair(std::uint32_t both, int i) {
  return to_float(BFloat16{static_cast<std::uint16_t>(both >> (16 * i))});
}

struct ProductOperands {
  float d[4];
  std::uint32_t a[4];
  std::uint32_t b[2];
};
struct ProductResult {
  float d[4];
};

/// Element (row, k) of A: registers by half of k, then half of the rows; lanes by row, then pair of k.
inline float element_of_a(const cuda_on_cpu::Lanes<ProductOperands, ProductResult>& lanes, int row, int k) {
  return of_pair(lanes.in(row % 8 * 4 + k % 8 / 2).a[k / 8 * 2 + row / 8], k % 2);
}
inline float element_of_b(const cuda_on_cpu::Lanes<ProductOperands, ProductResult>& lanes, int k, int column) {
  return of_pair(lanes.in(column * 4 + k % 8 / 2).b[k / 8], k % 2);
}

inline void multiply_add(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  const ProductOperands operands{{d[0], d[1], d[2], d[3]}, {a[0], a[1], a[2], a[3]}, {b0, b1}};
  const auto multiply = [](const cuda_on_cpu::Lanes<ProductOperands, ProductResult>& lanes) {
    float in_a[16][16];
    float in_b[16][8];
    for (int k = 0; k < 16; ++k) {
      for (int row = 0; row < 16; ++row) in_a[row][k] = element_of_a(lanes, row, k);
      for (int column = 0; column < 8; ++column) in_b[k][column] = element_of_b(lanes, k, column);
    }
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < 4; ++i) {
        const int row = lane / 4 + i / 2 * 8;
        const int column = lane % 4 * 2 + i % 2;
        float sum = lanes.in(lane).d[i];
        for (int k = 0; k < 16; ++k) sum += in_a[row][k] * in_b[k][column];
        lanes.out(lane).d[i] = sum;
      }
    }
  };
  const auto result = cuda_on_cpu::exchange<ProductResult>(0xFFFFFFFFU, operands, multiply);
  for (int i = 0; i < 4; ++i) d[i] = result.d[i];
}

struct FourPairs {
  std::uint32_t r[4];
};

/// What lane l gets of matrix i: row l / 4, columns 2 (l % 4) and the next; of its transpose when `transposed`.
inline void load_four(std::uint32_t (&to)[4], const BFloat16* row, bool transposed) {
  if (reinterpret_cast<std::uintptr_t>(row) % 16 != 0) throw std::logic_error("a row of a matrix is not aligned");
  const auto gather = [&](const cuda_on_cpu::Lanes<const BFloat16*, FourPairs>& lanes) {
    for (int lane = 0; lane < 32; ++lane) {
      for (int i = 0; i < 4; ++i) {
        const int r = lane / 4;
        const int c = lane % 4 * 2;
        const auto at = [&](int line, int column) { return lanes.in(i * 8 + line)[column].bits; };
        const std::uint32_t first = transposed ? at(c, r) : at(r, c);
        const std::uint32_t second = transposed ? at(c + 1, r) : at(r, c + 1);
        lanes.out(lane).r[i] = first | second << 16U;
      }
    }
  };
  const auto pairs = cuda_on_cpu::exchange<FourPairs>(0xFFFFFFFFU, row, gather);
  for (int i = 0; i < 4; ++i) to[i] = pairs.r[i];
}
inline void load_matrices(std::uint32_t (&to)[4], const BFloat16* row) { load_four(to, row, false); }
inline void load_transposed(std::uint32_t (&to)[4], const BFloat16* row) { load_four(to, row, true); }

inline void copy_async(BFloat16* to, const BFloat16* from, bool valid) {
  if (reinterpret_cast<std::uintptr_t>(to) % 16 != 0 || (valid && reinterpret_cast<std::uintptr_t>(from) % 16 != 0)) {
    throw std::logic_error("an asynchronous copy is not aligned");
  }
  cuda_on_cpu::copy_later(to, from, 16, valid ? 16 : 0);
}
inline void commit_copies() { cuda_on_cpu::commit_copies(); }
template <int kPending>
void wait_copies() {
  cuda_on_cpu::wait_copies(kPending);
}

}  // namespace plumb::kernels
