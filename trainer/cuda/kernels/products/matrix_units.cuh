#pragma once

#include "trainer/cuda/kernels/platform.cuh"

// Products of bf16 tiles in matrix units (compute capability 8.0 and above) and what feeds them. Fragments are laid out
// as PTX defines them for mma.m16n8k16: of an accumulator, lane l holds columns 2 (l % 4) and the next of row l / 4,
// then the same of row l / 4 + 8.

#ifdef __CUDACC__

namespace plumb::kernels {

/// d += a b for a 16 x 16 (by rows) and b 16 x 8 (by columns).
__device__ inline void multiply_add(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Four 8 x 8 matrices from shared memory: lane l names row l % 8 of matrix l / 8, at a multiple of 16 bytes.
__device__ inline void load_matrices(std::uint32_t (&to)[4], const BFloat16* row) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}
__device__ inline void load_transposed(std::uint32_t (&to)[4], const BFloat16* row) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}

/// Starts a copy of 16 bytes to shared memory; of zeros where not `valid`.
__device__ inline void copy_async(BFloat16* to, const BFloat16* from, bool valid) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(valid ? 16 : 0)
               : "memory");
}
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
/// Waits until only the newest `kPending` groups of copies of this thread may be under way.
template <int kPending>
__device__ inline void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

/// Two numbers side by side, the first one in the lower half.
__device__ inline std::uint32_t pair(float first, float second) {
  std::uint32_t both = 0;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
  return both;
}

}  // namespace plumb::kernels

#else
#include <cuda_on_cpu/matrix_units.hpp>
#endif
