#include "trainer/cuda/kernels/host_copies.hpp"

#ifdef __CUDACC__
#include <cuda_runtime.h>

#include <string>

#include "models/ground/error.hpp"
#else
#include <cstring>
#endif

namespace plumb::kernels {

void copy_and_wait(void* to, const void* from, std::int64_t bytes, [[maybe_unused]] Stream stream) {
  const auto size = static_cast<std::size_t>(bytes);
#ifdef __CUDACC__
  cudaError_t status = cudaMemcpyAsync(to, from, size, cudaMemcpyDefault, stream);
  if (status == cudaSuccess) status = cudaStreamSynchronize(stream);
  if (status != cudaSuccess) throw Error(std::string("CUDA copy with the host: ") + cudaGetErrorString(status));
#else
  std::memcpy(to, from, size);  // launches of the emulated device are done when they return
#endif
}

}  // namespace plumb::kernels
