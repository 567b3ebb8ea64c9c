#include "tools/gpu/probe_parts.hpp"

#include "models/ground/error.hpp"

namespace plumb::cuda {

StreamTimer::StreamTimer(cudaStream_t stream) : stream_(stream) {
  PLUMB_CUDA_CALL(cudaEventCreate(&begin_));
  PLUMB_CUDA_CALL(cudaEventCreate(&end_));
}

StreamTimer::~StreamTimer() {
  cudaEventDestroy(begin_);
  cudaEventDestroy(end_);
}

double StreamTimer::stop_ms() {
  PLUMB_CUDA_CALL(cudaEventRecord(end_, stream_));
  PLUMB_CUDA_CALL(cudaEventSynchronize(end_));
  float milliseconds = 0;
  PLUMB_CUDA_CALL(cudaEventElapsedTime(&milliseconds, begin_, end_));
  return milliseconds;
}

CutGpu::CutGpu(int devices, int sms, PartitionMode mode) : driver(load_green_driver()) {
  PLUMB_CUDA_CALL(cudaSetDevice(0));
  PLUMB_CUDA_CALL(cudaFree(nullptr));  // makes the primary context, before any part of it
  if (!driver.complete()) throw Error("the driver has no green contexts");
  plan = plan_partition(driver, 0, {devices, mode, sms});
  parts = std::make_unique<GreenPartition>(driver, 0, plan, devices);
  for (int device = 0; device < devices; ++device) compute.push_back(parts->make_stream(device, 0));
  copies = parts->make_stream(GreenPartition::kCopies, -1);
}

int all_multiprocessors() {
  int count = 0;
  PLUMB_CUDA_CALL(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
  return count;
}

}  // namespace plumb::cuda
