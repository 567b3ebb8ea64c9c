#pragma once

// What a kernel source needs of the machine: CUDA under nvcc. The same sources are also compiled for the CPU, where the
// tests' emulation (on their include path) stands in for it.

#include <cstddef>
#include <cstdint>

#include "trainer/cuda/kernels/stream.hpp"
#include "trainer/numbers/number.hpp"

#ifdef __CUDACC__

#include <cuda_runtime.h>
#include <string>

#include "models/ground/error.hpp"

namespace plumb::kernels {

/// Blocks and threads of a launch, and its bytes of dynamic shared memory.
struct LaunchShape {
  dim3 grid;
  dim3 block;
  std::size_t shared_bytes = 0;
};

template <class... P, class... A>
void launch(void (*kernel)(P...), const LaunchShape& shape, Stream stream, const A&... arguments) {
  constexpr std::size_t kAlwaysAllowed = 48 * 1024;
  cudaError_t status = cudaSuccess;
  if (shape.shared_bytes > kAlwaysAllowed) {
    status = cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(shape.shared_bytes));
  }
  if (status == cudaSuccess && shape.grid.x > 0 && shape.grid.y > 0 && shape.grid.z > 0) {
    kernel<<<shape.grid, shape.block, shape.shared_bytes, stream>>>(arguments...);
    status = cudaGetLastError();
  }
  if (status != cudaSuccess) throw Error(std::string("CUDA kernel launch: ") + cudaGetErrorString(status));
}

template <class T>
__device__ inline T* dynamic_shared() {
  extern __shared__ uint4 plumb_dynamic_shared[];
  return reinterpret_cast<T*>(plumb_dynamic_shared);
}

/// 2^x and e^x to about 22 bits, which is plenty for results in bf16.
__device__ inline float fast_exp2(float x) {
  float y = 0;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ inline unsigned int multiprocessor() {
  unsigned int number = 0;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
  return number;
}
/// Nanoseconds of the device's clock.
__device__ inline std::int64_t nanoseconds() {
  std::int64_t now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}
/// Leaves the multiprocessor to others for a moment; for loops that wait.
__device__ inline void pause() { __nanosleep(32); }
__device__ inline std::int64_t cycles() { return clock64(); }
__device__ inline void expect_aligned(const void*, std::size_t) {}  // the hardware does

}  // namespace plumb::kernels

#else
#include <cuda_on_cpu/cuda_on_cpu.hpp>
#endif

namespace plumb::kernels {

inline constexpr unsigned int kWarp = 32;
inline constexpr unsigned int kAllLanes = 0xFFFFFFFFU;

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// e^x: to the last bit or two for float, faster for bf16.
template <class T>
__device__ inline float exponential(float x);
template <>
__device__ inline float exponential<float>(float x) {
  return expf(x);
}
template <>
__device__ inline float exponential<BFloat16>(float x) {
  return fast_exp2(x * 1.44269504088896341F);
}

/// N numbers that are moved at once.
template <class T, int N>
struct alignas(sizeof(T) * N) Pack {
  T v[N];
};
template <int N, class T>
__device__ inline Pack<T, N> load(const T* from) {
  expect_aligned(from, sizeof(Pack<T, N>));
  return *reinterpret_cast<const Pack<T, N>*>(from);
}
template <int N, class T>
__device__ inline void store(T* to, const Pack<T, N>& pack) {
  expect_aligned(to, sizeof(Pack<T, N>));
  *reinterpret_cast<Pack<T, N>*>(to) = pack;
}

/// Whether rows of `width` numbers that begin at these places can be moved in packs of 16 bytes. Null is no hindrance.
template <class T, class... P>
bool in_packs(std::int64_t width, const P*... places) {
  const auto aligned = [](const void* place) { return reinterpret_cast<std::uintptr_t>(place) % 16 == 0; };
  return width % kVector<T> == 0 && (aligned(places) && ...);
}

/// Sums and largest numbers over a warp, in an order that never changes; all lanes get the same bits.
__device__ inline float warp_sum(float x) {
  for (int offset = 16; offset > 0; offset /= 2) x += __shfl_xor_sync(kAllLanes, x, offset);
  return x;
}
__device__ inline float warp_max(float x) {
  for (int offset = 16; offset > 0; offset /= 2) x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, offset));
  return x;
}

/// Over a block of one dimension; `shared` has room for a number per warp.
__device__ inline float block_sum(float x, float* shared) {
  const float sum = warp_sum(x);
  if (threadIdx.x % kWarp == 0) shared[threadIdx.x / kWarp] = sum;
  __syncthreads();
  float total = 0;
  for (unsigned int warp = 0; warp < blockDim.x / kWarp; ++warp) total += shared[warp];
  __syncthreads();
  return total;
}
__device__ inline float block_max(float x, float* shared) {
  const float largest = warp_max(x);
  if (threadIdx.x % kWarp == 0) shared[threadIdx.x / kWarp] = largest;
  __syncthreads();
  float total = shared[0];
  for (unsigned int warp = 1; warp < blockDim.x / kWarp; ++warp) total = fmaxf(total, shared[warp]);
  __syncthreads();
  return total;
}

}  // namespace plumb::kernels
