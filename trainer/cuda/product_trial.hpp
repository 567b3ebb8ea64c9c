#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <optional>

namespace plumb::cuda {

/// What a product adds to: rows of memory on the device. Empty where a product overwrites its result.
struct TrialResult {
  std::byte* data = nullptr;
  std::size_t stride = 0;  ///< bytes from row to row
  std::size_t width = 0;   ///< bytes of a row
  std::size_t rows = 0;
};

/// Times launches of the same work on a stream. Waits for the stream, so it must not be captured.
class ProductTrial {
 public:
  /// Keeps what stands in `result`, if anything, in memory of its own.
  ProductTrial(const TrialResult& result, cudaStream_t stream);
  ~ProductTrial();
  ProductTrial(const ProductTrial&) = delete;
  ProductTrial& operator=(const ProductTrial&) = delete;

  /// Milliseconds of the fastest of three launches after one that is not timed. None when `launch` says that it was
  /// refused. The result is afterwards what it was.
  std::optional<double> time(const std::function<bool()>& launch);

 private:
  void put_back();

  TrialResult result_;
  cudaStream_t stream_;
  void* kept_ = nullptr;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

}  // namespace plumb::cuda
