#include "trainer/cuda/product_trial.hpp"

#include <algorithm>
#include <limits>

#include "trainer/cuda/cuda_call.hpp"

namespace plumb::cuda {

ProductTrial::ProductTrial(const TrialResult& result, cudaStream_t stream) : result_(result), stream_(stream) {
  PLUMB_CUDA_CALL(cudaEventCreate(&begin_));
  PLUMB_CUDA_CALL(cudaEventCreate(&end_));
  if (result.data == nullptr) return;
  PLUMB_CUDA_CALL(cudaMalloc(&kept_, result.width * result.rows));
  PLUMB_CUDA_CALL(cudaMemcpy2DAsync(kept_, result.width, result.data, result.stride, result.width, result.rows,
                                    cudaMemcpyDeviceToDevice, stream));
}

ProductTrial::~ProductTrial() {
  cudaStreamSynchronize(stream_);
  cudaFree(kept_);
  cudaEventDestroy(begin_);
  cudaEventDestroy(end_);
}

std::optional<double> ProductTrial::time(const std::function<bool()>& launch) {
  constexpr int kTimed = 3;
  float shortest = std::numeric_limits<float>::max();
  for (int i = 0; i <= kTimed; ++i) {
    PLUMB_CUDA_CALL(cudaEventRecord(begin_, stream_));
    if (!launch()) {
      cudaGetLastError();  // of a launch that was refused: the next one is not to find it
      return std::nullopt;
    }
    PLUMB_CUDA_CALL(cudaEventRecord(end_, stream_));
    put_back();
    PLUMB_CUDA_CALL(cudaEventSynchronize(end_));
    float milliseconds = 0;
    PLUMB_CUDA_CALL(cudaEventElapsedTime(&milliseconds, begin_, end_));
    if (i > 0) shortest = std::min(shortest, milliseconds);
  }
  return static_cast<double>(shortest);
}

void ProductTrial::put_back() {
  if (kept_ == nullptr) return;
  PLUMB_CUDA_CALL(cudaMemcpy2DAsync(result_.data, result_.stride, kept_, result_.width, result_.width, result_.rows,
                                    cudaMemcpyDeviceToDevice, stream_));
}

}  // namespace plumb::cuda
