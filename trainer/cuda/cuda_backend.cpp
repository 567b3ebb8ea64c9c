#include "trainer/cuda/cuda_backend.hpp"

#include "trainer/cuda/cuda_streams.hpp"

namespace plumb {

std::unique_ptr<StreamMachine> make_cuda_streams(const StreamOptions& options) {
  return std::make_unique<cuda::CudaStreams>(options);
}

}  // namespace plumb
