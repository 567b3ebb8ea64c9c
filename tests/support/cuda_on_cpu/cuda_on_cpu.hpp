#pragma once

// CUDA's language for the CPU, as far as the kernels of trainer/cuda use it: the very same kernel sources are compiled
// by the host compiler and run thread by thread, each in a fiber of its own, in whatever order a test asks for.
// Matrix units and asynchronous copies are in matrix_units.hpp.

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <type_traits>

#include "tests/support/cuda_on_cpu/block.hpp"
#include "trainer/cuda/kernels/stream.hpp"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __restrict__ __restrict
#define __launch_bounds__(...)
#define __grid_constant__
// Blocks run one after the other.
#define __shared__ static

using dim3 = cuda_on_cpu::Index;
struct float2 {
  float x, y;
};
struct alignas(16) uint4 {
  unsigned int x, y, z, w;
};
using cuda_on_cpu::blockDim;
using cuda_on_cpu::blockIdx;
using cuda_on_cpu::gridDim;
using cuda_on_cpu::threadIdx;

inline void __syncthreads() { cuda_on_cpu::sync_threads(); }
inline void __syncwarp(unsigned int mask = 0xFFFFFFFFU) {
  const int nothing = 0;
  cuda_on_cpu::exchange<int>(mask, nothing, [](const cuda_on_cpu::Lanes<int, int>&) {});
}

namespace cuda_on_cpu {

/// Lane l gets what lane source(l, parameter of l) has given.
template <class T>
struct Given {
  T value;
  int parameter;
};
template <class T, class Source>
T shuffle(unsigned int mask, T value, int parameter, Source source) {
  return exchange<T>(mask, Given<T>{value, parameter}, [&](const Lanes<Given<T>, T>& lanes) {
    for (int lane = 0; lane < 32; ++lane) {
      if ((mask >> lane & 1U) == 0) continue;
      lanes.out(lane) = lanes.in(source(lane, lanes.in(lane).parameter)).value;
    }
  });
}

}  // namespace cuda_on_cpu

template <class T>
T __shfl_sync(unsigned int mask, T value, int source) {
  return cuda_on_cpu::shuffle(mask, value, source, [](int, int from) { return from & 31; });
}
template <class T>
T __shfl_xor_sync(unsigned int mask, T value, int bits) {
  return cuda_on_cpu::shuffle(mask, value, bits, [](int lane, int other) { return lane ^ other; });
}
template <class T>
T __shfl_down_sync(unsigned int mask, T value, unsigned int by) {
  return cuda_on_cpu::shuffle(mask, value, static_cast<int>(by),
                              [](int lane, int distance) { return lane + distance < 32 ? lane + distance : lane; });
}
template <class T>
T __shfl_up_sync(unsigned int mask, T value, unsigned int by) {
  return cuda_on_cpu::shuffle(mask, value, static_cast<int>(by),
                              [](int lane, int distance) { return lane >= distance ? lane - distance : lane; });
}
inline unsigned int __ballot_sync(unsigned int mask, int predicate) {
  return cuda_on_cpu::exchange<unsigned int>(mask, predicate, [&](const cuda_on_cpu::Lanes<int, unsigned int>& lanes) {
    unsigned int votes = 0;
    for (int lane = 0; lane < 32; ++lane) {
      if ((mask >> lane & 1U) != 0 && lanes.in(lane) != 0) votes |= 1U << lane;
    }
    for (int lane = 0; lane < 32; ++lane) lanes.out(lane) = votes;
  });
}
inline int __popc(unsigned int x) { return __builtin_popcount(x); }
inline int atomicAdd(int* at, int value) {
  const int before = *at;
  *at += value;
  return before;
}
inline unsigned int atomicAdd(unsigned int* at, unsigned int value) {
  const unsigned int before = *at;
  *at += value;
  return before;
}

namespace plumb::kernels {

using LaunchShape = cuda_on_cpu::LaunchShape;

template <class... P, class... A>
void launch(void (*kernel)(P...), const LaunchShape& shape, Stream, const A&... arguments) {
  cuda_on_cpu::run(shape, [&] { kernel(arguments...); });
}
template <class T>
T* dynamic_shared() {
  return static_cast<T*>(cuda_on_cpu::shared_memory());
}
inline float fast_exp2(float x) { return std::exp2(x); }
inline unsigned int multiprocessor() { return blockIdx.x % 3; }
inline std::int64_t nanoseconds() { return cuda_on_cpu::ticks(); }
inline void pause() {}
inline void expect_aligned(const void* place, std::size_t bytes) {
  if (reinterpret_cast<std::uintptr_t>(place) % bytes != 0) throw std::logic_error("a pack is not aligned");
}
inline std::int64_t cycles() { return cuda_on_cpu::ticks(); }

}  // namespace plumb::kernels
