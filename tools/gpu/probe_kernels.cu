#include "tools/gpu/probe_kernels.hpp"

#include "trainer/cuda/cuda_call.hpp"

namespace plumb::cuda {
namespace {

__global__ void nothing() {}

__global__ void read_times_kernel(long long* times, int count) {
  for (int i = 0; i < count; ++i) {
    long long now = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    times[i] = now;
  }
}

}  // namespace

int largest_cluster(cudaStream_t stream) {
  PLUMB_CUDA_CALL(cudaFuncSetAttribute(nothing, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(64);
  config.blockDim = dim3(128);
  config.stream = stream;
  int blocks = 0;
  PLUMB_CUDA_CALL(cudaOccupancyMaxPotentialClusterSize(&blocks, nothing, &config));
  return blocks;
}

void read_times(long long* times, int count, cudaStream_t stream) {
  read_times_kernel<<<1, 1, 0, stream>>>(times, count);
  PLUMB_CUDA_CALL(cudaGetLastError());
}

}  // namespace plumb::cuda
