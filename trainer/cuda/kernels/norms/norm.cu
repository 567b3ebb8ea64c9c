#include "trainer/cuda/kernels/norms/norm.hpp"

#include "trainer/cuda/kernels/products/column_sums.cuh"

namespace plumb::kernels {

namespace {

constexpr unsigned int kRowsPerBlock = 4;  // a warp each

__device__ inline std::int64_t row_of_warp() {
  return static_cast<std::int64_t>(blockIdx.x) * kRowsPerBlock + threadIdx.x / kWarp;
}

/// f(column) for every pack of the row that is this lane's.
template <int N, class F>
__device__ inline void for_packs(std::int64_t width, F f) {
  for (std::int64_t column = threadIdx.x % kWarp * N; column < width; column += kWarp * N) f(column);
}

template <class T, int N>
__device__ inline void grow(const NormForward<T>& norm, std::int64_t row) {
  for_packs<N>(norm.width, [&](std::int64_t column) {
    const std::int64_t at = row * norm.width + column;
    Pack<T, N> x = load<N>(norm.input + at);
    const Pack<T, N> more = load<N>(norm.added + at);
#pragma unroll
    for (int i = 0; i < N; ++i) x.v[i] = from_float<T>(to_float(x.v[i]) + to_float(more.v[i]));
    store(norm.sum + at, x);
  });
}

template <class T, int N>
__global__ void __launch_bounds__(kRowsPerBlock* kWarp) norm_rows(NormForward<T> norm) {
  const std::int64_t row = row_of_warp();
  if (row >= norm.rows) return;
  if (norm.added != nullptr) grow<T, N>(norm, row);
  const T* x = (norm.added != nullptr ? norm.sum : norm.input) + row * norm.width;
  const float width = static_cast<float>(norm.width);
  float mean = 0;
  if (norm.mean != nullptr) {
    float sum = 0;
    for_packs<N>(norm.width, [&](std::int64_t column) {
      const Pack<T, N> pack = load<N>(x + column);
#pragma unroll
      for (int i = 0; i < N; ++i) sum += to_float(pack.v[i]);
    });
    mean = warp_sum(sum) / width;
  }
  float square = 0;
  for_packs<N>(norm.width, [&](std::int64_t column) {
    const Pack<T, N> pack = load<N>(x + column);
#pragma unroll
    for (int i = 0; i < N; ++i) square += (to_float(pack.v[i]) - mean) * (to_float(pack.v[i]) - mean);
  });
  const float inverse = 1.0F / sqrtf(warp_sum(square) / width + norm.epsilon);
  if (threadIdx.x % kWarp == 0) {
    if (norm.mean != nullptr) norm.mean[row] = mean;
    norm.inverse[row] = inverse;
  }
  if (norm.output == nullptr) return;
  for_packs<N>(norm.width, [&](std::int64_t column) {
    Pack<T, N> pack = load<N>(x + column);
    const Pack<T, N> weight = load<N>(norm.weight + column);
    const Pack<T, N> bias = norm.bias != nullptr ? load<N>(norm.bias + column) : Pack<T, N>{};
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const float y = (to_float(pack.v[i]) - mean) * inverse * to_float(weight.v[i]);
      pack.v[i] = from_float<T>(y + to_float(bias.v[i]));
    }
    store(norm.output + row * norm.width + column, pack);
  });
}

template <class T, int N>
__global__ void __launch_bounds__(kRowsPerBlock* kWarp) norm_input_grad(NormBackward<T> norm) {
  const std::int64_t row = row_of_warp();
  if (row >= norm.rows) return;
  const T* x = norm.input + row * norm.width;
  const T* dy = norm.output_grad + row * norm.width;
  const bool centred = norm.mean != nullptr;
  const float mean = centred ? norm.mean[row] : 0.0F;
  const float inverse = norm.inverse[row];
  float sum = 0;
  float product = 0;
  for_packs<N>(norm.width, [&](std::int64_t column) {
    const Pack<T, N> values = load<N>(x + column);
    const Pack<T, N> gradients = load<N>(dy + column);
    const Pack<T, N> weight = load<N>(norm.weight + column);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const float scaled = to_float(gradients.v[i]) * to_float(weight.v[i]);
      sum += scaled;
      product += scaled * ((to_float(values.v[i]) - mean) * inverse);
    }
  });
  sum = centred ? warp_sum(sum) / static_cast<float>(norm.width) : 0.0F;
  product = warp_sum(product) / static_cast<float>(norm.width);
  for_packs<N>(norm.width, [&](std::int64_t column) {
    const std::int64_t at = row * norm.width + column;
    const Pack<T, N> values = load<N>(x + column);
    Pack<T, N> gradients = load<N>(dy + column);
    const Pack<T, N> weight = load<N>(norm.weight + column);
    const Pack<T, N> more = norm.added != nullptr ? load<N>(norm.added + at) : Pack<T, N>{};
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const float normal = (to_float(values.v[i]) - mean) * inverse;
      const float scaled = to_float(gradients.v[i]) * to_float(weight.v[i]);
      gradients.v[i] = from_float<T>(inverse * (scaled - sum - normal * product));
      if (norm.added != nullptr) gradients.v[i] = from_float<T>(to_float(gradients.v[i]) + to_float(more.v[i]));
    }
    store(norm.input_grad + at, gradients);
  });
}

/// What the gradients of weight and bias are sums of.
template <class T, int N>
struct ParameterTerms {
  const T* input;
  const T* output_grad;
  const float* mean;
  const float* inverse;
  std::int64_t width;

  __device__ void operator()(std::int64_t row, std::int64_t column, float (&out)[2][N]) const {
    const Pack<T, N> x = load<N>(input + row * width + column);
    const Pack<T, N> dy = load<N>(output_grad + row * width + column);
    const float middle = mean != nullptr ? mean[row] : 0.0F;
    const float scale = inverse[row];
#pragma unroll
    for (int i = 0; i < N; ++i) {
      out[0][i] = to_float(dy.v[i]) * ((to_float(x.v[i]) - middle) * scale);
      out[1][i] = to_float(dy.v[i]);
    }
  }
};

template <class T, int N>
void backward_in(const NormBackward<T>& norm, Stream stream) {
  // The parameters first: the input gradient may take the place of what they are made of.
  const ParameterTerms<T, N> terms{norm.input, norm.output_grad, norm.mean, norm.inverse, norm.width};
  const ColumnSums<float> shape{nullptr, norm.rows, norm.width, nullptr, norm.scratch};
  if (norm.weight_grad != nullptr)
    sum_columns_in<2, N>(terms, AddToGradients{{norm.weight_grad, norm.bias_grad}}, shape, stream);
  const auto blocks = static_cast<unsigned int>(ceil_div(norm.rows, kRowsPerBlock));
  launch(norm_input_grad<T, N>, {dim3(blocks), dim3(kRowsPerBlock * kWarp)}, stream, norm);
}

}  // namespace

template <class T>
void norm_forward(const NormForward<T>& norm, Stream stream) {
  const LaunchShape shape{dim3(static_cast<unsigned int>(ceil_div(norm.rows, kRowsPerBlock))),
                          dim3(kRowsPerBlock * kWarp)};
  if (in_packs<T>(norm.width, norm.input, norm.added, norm.sum, norm.weight, norm.bias, norm.output)) {
    launch(norm_rows<T, kVector<T>>, shape, stream, norm);
  } else {
    launch(norm_rows<T, 1>, shape, stream, norm);
  }
}

template <class T>
void norm_backward(const NormBackward<T>& norm, Stream stream) {
  if (in_packs<T>(norm.width, norm.input, norm.output_grad, norm.weight, norm.added, norm.input_grad)) {
    backward_in<T, kVector<T>>(norm, stream);
  } else {
    backward_in<T, 1>(norm, stream);
  }
}

template void norm_forward(const NormForward<float>&, Stream);
template void norm_forward(const NormForward<BFloat16>&, Stream);
template void norm_backward(const NormBackward<float>&, Stream);
template void norm_backward(const NormBackward<BFloat16>&, Stream);

}  // namespace plumb::kernels
