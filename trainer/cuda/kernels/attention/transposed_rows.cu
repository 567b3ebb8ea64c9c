#include "trainer/cuda/kernels/attention/transposed_rows.hpp"

#include "trainer/cuda/kernels/platform.cuh"

namespace plumb::kernels {

namespace {

constexpr unsigned int kTransposeThreads = 256;

__global__ void __launch_bounds__(kTransposeThreads) move_transposed(const float* from, float* to, SampleMatrices of) {
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kTransposeThreads + threadIdx.x;
  const std::int64_t each = of.rows * of.columns;
  if (at >= of.samples * each) return;
  const std::int64_t sample = at / each;
  const std::int64_t column = at % each / of.rows;
  const std::int64_t row = at % of.rows;
  to[at] = from[sample * each + row * of.columns + column];
}

}  // namespace

void transpose_rows(const float* from, float* to, const SampleMatrices& of, Stream stream) {
  const std::int64_t count = of.samples * of.rows * of.columns;
  const LaunchShape shape{dim3(static_cast<unsigned int>(ceil_div(count, kTransposeThreads))), dim3(kTransposeThreads)};
  launch(move_transposed, shape, stream, from, to, of);
}

}  // namespace plumb::kernels
