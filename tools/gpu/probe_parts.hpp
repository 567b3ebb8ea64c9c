#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "trainer/cuda/cuda_call.hpp"
#include "trainer/cuda/green_driver.hpp"
#include "trainer/cuda/green_partition.hpp"

namespace plumb::cuda {

/// Memory that host and GPU see.
template <class T>
class HostArray {
 public:
  explicit HostArray(std::size_t count) {
    PLUMB_CUDA_CALL(cudaHostAlloc(reinterpret_cast<void**>(&data_), count * sizeof(T), cudaHostAllocMapped));
    for (std::size_t i = 0; i < count; ++i) data_[i] = T{};
  }
  HostArray(const HostArray&) = delete;
  HostArray& operator=(const HostArray&) = delete;
  ~HostArray() { cudaFreeHost(data_); }
  T* data() const { return data_; }
  T& operator[](std::size_t i) const { return data_[i]; }

 private:
  T* data_ = nullptr;
};

/// Memory of the GPU, filled with one byte.
class DeviceArray {
 public:
  explicit DeviceArray(std::int64_t bytes, int value = 0) {
    PLUMB_CUDA_CALL(cudaMalloc(&data_, static_cast<std::size_t>(bytes)));
    PLUMB_CUDA_CALL(cudaMemset(data_, value, static_cast<std::size_t>(bytes)));
    PLUMB_CUDA_CALL(cudaDeviceSynchronize());
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data_); }
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

/// Milliseconds between two moments of a stream.
class StreamTimer {
 public:
  explicit StreamTimer(cudaStream_t stream);
  StreamTimer(const StreamTimer&) = delete;
  StreamTimer& operator=(const StreamTimer&) = delete;
  ~StreamTimer();
  void start() { PLUMB_CUDA_CALL(cudaEventRecord(begin_, stream_)); }
  /// Waits for everything since `start`.
  double stop_ms();

 private:
  cudaStream_t stream_;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

/// GPU 0 cut into `devices` parts of `sms` multiprocessors, as the trainer does it.
struct CutGpu {
  CutGpu(int devices, int sms, PartitionMode mode);

  GreenDriver driver;
  PartitionPlan plan;
  std::unique_ptr<GreenPartition> parts;
  std::vector<cudaStream_t> compute;  ///< one per part
  cudaStream_t copies = nullptr;
};

/// Multiprocessors of GPU 0.
int all_multiprocessors();

}  // namespace plumb::cuda
