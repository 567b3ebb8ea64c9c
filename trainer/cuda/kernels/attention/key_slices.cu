#include "trainer/cuda/kernels/attention/key_slices.hpp"

#include "trainer/cuda/kernels/platform.cuh"

namespace plumb::kernels {

namespace {

constexpr unsigned int kThreads = 256;

template <class T, bool kAdds>
__global__ void __launch_bounds__(kThreads) move_rows(SampleShape shape, SampleRows<T> to, SampleRows<const T> from) {
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= shape.samples * shape.sequence * shape.width) return;
  const std::int64_t column = at % shape.width;
  const std::int64_t row = at / shape.width % shape.sequence;
  const std::int64_t sample = at / shape.width / shape.sequence;
  T& place = to.rows[(sample * to.per_sample + to.first + row) * to.stride + column];
  const T value = from.rows[(sample * from.per_sample + from.first + row) * from.stride + column];
  place = kAdds ? from_float<T>(to_float(place) + to_float(value)) : value;
}

/// A warp per sample looks for the last id that is not 0.
__global__ void last_tokens(const std::int32_t* ids, std::int64_t sequence, std::int32_t* lengths) {
  const std::int32_t* row = ids + blockIdx.x * sequence;
  int longest = 1;
  for (std::int64_t t = threadIdx.x; t < sequence; t += kWarp) {
    if (row[t] != 0) longest = static_cast<int>(t) + 1;
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    const int other = __shfl_xor_sync(kAllLanes, longest, offset);
    longest = other > longest ? other : longest;
  }
  if (threadIdx.x == 0) lengths[blockIdx.x] = longest;
}

LaunchShape thread_each(std::int64_t count) {
  return {dim3(static_cast<unsigned int>(ceil_div(count, kThreads))), dim3(kThreads)};
}

}  // namespace

template <class T>
void copy_rows(const SampleShape& shape, const SampleRows<T>& to, const SampleRows<const T>& from, Stream stream) {
  launch(move_rows<T, false>, thread_each(shape.samples * shape.sequence * shape.width), stream, shape, to, from);
}
template <class T>
void add_rows(const SampleShape& shape, const SampleRows<T>& to, const SampleRows<const T>& from, Stream stream) {
  launch(move_rows<T, true>, thread_each(shape.samples * shape.sequence * shape.width), stream, shape, to, from);
}
void count_tokens(const std::int32_t* ids, const SampleShape& shape, std::int32_t* lengths, Stream stream) {
  launch(last_tokens, {dim3(static_cast<unsigned int>(shape.samples)), dim3(kWarp)}, stream, ids, shape.sequence,
         lengths);
}

template void copy_rows(const SampleShape&, const SampleRows<float>&, const SampleRows<const float>&, Stream);
template void copy_rows(const SampleShape&, const SampleRows<BFloat16>&, const SampleRows<const BFloat16>&, Stream);
template void add_rows(const SampleShape&, const SampleRows<float>&, const SampleRows<const float>&, Stream);
template void add_rows(const SampleShape&, const SampleRows<BFloat16>&, const SampleRows<const BFloat16>&, Stream);

}  // namespace plumb::kernels
