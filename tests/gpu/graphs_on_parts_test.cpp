#include <doctest/doctest.h>

#include "trainer/cuda/cuda_call.hpp"
#include "trainer/cuda/gpu.hpp"
#include "trainer/cuda/kernels/probes.hpp"
#include "trainer/cuda/op_graphs.hpp"

TEST_SUITE_BEGIN("gpu");

namespace plumb::cuda {

TEST_CASE("graphs stay on the part that they were captured on, and are waited for") {
  StreamOptions options;
  options.devices = 2;
  Gpu gpu(0, 2, options);
  gpu.make_stream(0, StreamKind::kCompute);
  const cudaStream_t stream = gpu.make_stream(1, StreamKind::kCompute);
  gpu.check_streams();
  CHECK_MESSAGE(gpu.takes_graphs(), gpu.description());
  OpGraphs graphs;
  cudaEvent_t end = nullptr;
  PLUMB_CUDA_CALL(cudaEventCreate(&end));
  for (int i = 0; i < 3; ++i) {
    graphs.run("spin", stream, [&] { kernels::spin(20'000'000, 1, stream); });
    PLUMB_CUDA_CALL(cudaEventRecord(end, stream));
    gpu.synchronize();  // cudaDeviceSynchronize comes back from the second and the third one at once
    CHECK(cudaEventQuery(end) == cudaSuccess);
  }
  CHECK(graphs.size() == 1);
  PLUMB_CUDA_CALL(cudaEventDestroy(end));
}

}  // namespace plumb::cuda

TEST_SUITE_END();
