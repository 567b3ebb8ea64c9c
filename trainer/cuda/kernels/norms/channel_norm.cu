#include "trainer/cuda/kernels/norms/channel_norm.hpp"

#include "trainer/cuda/kernels/products/column_sums.cuh"

namespace plumb::kernels {

namespace {

constexpr unsigned int kThreads = 256;
constexpr float kEpsilon = 1e-5F;

/// Place of the statistics of a number.
struct StatisticPlace {
  std::int64_t channels;
  std::int64_t pixels;
  std::int64_t groups;  ///< 0: by channel

  __device__ std::int64_t operator()(std::int64_t row, std::int64_t channel) const {
    return groups == 0 ? channel : row / pixels * groups + channel / (channels / groups);
  }
};

/// What batch norm's statistics are sums of: the numbers, then the squares of their distances from the mean.
template <class T>
struct DistanceTerms {
  const T* input;
  const float* mean;
  std::int64_t channels;

  __device__ void operator()(std::int64_t row, std::int64_t channel, float (&out)[1][1]) const {
    const float x = to_float(input[row * channels + channel]);
    out[0][0] = mean == nullptr ? x : (x - mean[channel]) * (x - mean[channel]);
  }
};
struct FinishMean {
  float* mean;
  float rows;
  __device__ void operator()(std::int64_t channel, const float (&sums)[1]) const { mean[channel] = sums[0] / rows; }
};
struct FinishDeviation {
  float* inverse;
  float rows;
  __device__ void operator()(std::int64_t channel, const float (&sums)[1]) const {
    inverse[channel] = 1.0F / sqrtf(sums[0] / rows + kEpsilon);
  }
};

/// What the parameters' gradients are sums of.
template <class T>
struct GradientTerms {
  const T* input;
  const T* output_grad;
  const float* mean;
  const float* inverse;
  StatisticPlace place;

  __device__ void operator()(std::int64_t row, std::int64_t channel, float (&out)[2][1]) const {
    const std::int64_t at = row * place.channels + channel;
    const std::int64_t of = place(row, channel);
    const float dy = to_float(output_grad[at]);
    out[0][0] = dy * ((to_float(input[at]) - mean[of]) * inverse[of]);
    out[1][0] = dy;
  }
};
/// Adds them up, and keeps the means for the gradient of the input.
struct FinishGradients {
  AddToGradients add;
  float* means;  ///< or null; two rows of channels
  std::int64_t channels;
  float rows;
  __device__ void operator()(std::int64_t channel, const float (&sums)[2]) const {
    add(channel, sums);
    if (means == nullptr) return;
    means[channel] = sums[0] / rows;
    means[channels + channel] = sums[1] / rows;
  }
};

/// f(place in the image, channel) for the numbers of this block's group, thread by thread.
template <class F>
__device__ inline void for_group(const ChannelNormShape& shape, F f) {
  const std::int64_t width = shape.channels / shape.groups;
  const std::int64_t image = blockIdx.x / shape.groups;
  const std::int64_t first = blockIdx.x % shape.groups * width;
  for (std::int64_t i = threadIdx.x; i < shape.pixels * width; i += kThreads) {
    const std::int64_t channel = first + i % width;
    f((image * shape.pixels + i / width) * shape.channels + channel, channel);
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads) measure_groups(ChannelNormForward<T> norm) {
  __shared__ float shared[kThreads / kWarp];
  const auto size = static_cast<float>(norm.shape.pixels * (norm.shape.channels / norm.shape.groups));
  float sum = 0;
  for_group(norm.shape, [&](std::int64_t at, std::int64_t) { sum += to_float(norm.input[at]); });
  const float mean = block_sum(sum, shared) / size;
  float square = 0;
  for_group(norm.shape, [&](std::int64_t at, std::int64_t) {
    const float distance = to_float(norm.input[at]) - mean;
    square += distance * distance;
  });
  const float inverse = 1.0F / sqrtf(block_sum(square, shared) / size + kEpsilon);
  if (threadIdx.x != 0) return;
  norm.mean[blockIdx.x] = mean;
  norm.inverse[blockIdx.x] = inverse;
}

template <class T>
__global__ void __launch_bounds__(kThreads) normalise(ChannelNormForward<T> norm, StatisticPlace place) {
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= norm.shape.images * norm.shape.pixels * norm.shape.channels) return;
  const std::int64_t channel = at % norm.shape.channels;
  const std::int64_t of = place(at / norm.shape.channels, channel);
  const float normal = (to_float(norm.input[at]) - norm.mean[of]) * norm.inverse[of];
  norm.output[at] = from_float<T>(normal * to_float(norm.weight[channel]) + to_float(norm.bias[channel]));
}

/// Batch norm: `means` are those of dy normal and dy.
template <class T>
__global__ void __launch_bounds__(kThreads) batch_input_grad(ChannelNormBackward<T> norm, const float* means) {
  const std::int64_t channels = norm.shape.channels;
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= norm.shape.images * norm.shape.pixels * channels) return;
  const std::int64_t channel = at % channels;
  const float normal = (to_float(norm.input[at]) - norm.mean[channel]) * norm.inverse[channel];
  const float dy = to_float(norm.output_grad[at]);
  const float dx = dy - means[channels + channel] - normal * means[channel];
  norm.input_grad[at] = from_float<T>(to_float(norm.weight[channel]) * norm.inverse[channel] * dx);
}

template <class T>
__global__ void __launch_bounds__(kThreads) group_input_grad(ChannelNormBackward<T> norm) {
  __shared__ float shared[kThreads / kWarp];
  const auto size = static_cast<float>(norm.shape.pixels * (norm.shape.channels / norm.shape.groups));
  const float mean = norm.mean[blockIdx.x];
  const float inverse = norm.inverse[blockIdx.x];
  float sum = 0;
  float product = 0;
  for_group(norm.shape, [&](std::int64_t at, std::int64_t channel) {
    const float scaled = to_float(norm.output_grad[at]) * to_float(norm.weight[channel]);
    sum += scaled;
    product += scaled * ((to_float(norm.input[at]) - mean) * inverse);
  });
  sum = block_sum(sum, shared) / size;
  product = block_sum(product, shared) / size;
  for_group(norm.shape, [&](std::int64_t at, std::int64_t channel) {
    const float scaled = to_float(norm.output_grad[at]) * to_float(norm.weight[channel]);
    const float normal = (to_float(norm.input[at]) - mean) * inverse;
    norm.input_grad[at] = from_float<T>(inverse * (scaled - sum - normal * product));
  });
}

LaunchShape thread_each(std::int64_t count) {
  return {dim3(static_cast<unsigned int>(ceil_div(count, kThreads))), dim3(kThreads)};
}
StatisticPlace place_in(const ChannelNormShape& shape) { return {shape.channels, shape.pixels, shape.groups}; }
/// The sums of a stage lie after two rows of means.
ColumnSums<float> columns_of(const ChannelNormShape& shape, std::byte* scratch) {
  const std::int64_t means = 2 * shape.channels * static_cast<std::int64_t>(sizeof(float));
  return {nullptr, shape.rows(), shape.channels, nullptr, scratch + means};
}

}  // namespace

std::int64_t channel_norm_scratch_bytes(const ChannelNormShape& shape) {
  return 2 * shape.channels * static_cast<std::int64_t>(sizeof(float)) +
         column_scratch_bytes(shape.rows(), shape.channels, 2);
}

template <class T>
void channel_norm_forward(const ChannelNormForward<T>& norm, Stream stream) {
  const ChannelNormShape& shape = norm.shape;
  if (shape.groups == 0) {
    const auto rows = static_cast<float>(shape.rows());
    const ColumnSums<float> columns = columns_of(shape, norm.scratch);
    sum_columns_in<1, 1>(DistanceTerms<T>{norm.input, nullptr, shape.channels}, FinishMean{norm.mean, rows}, columns,
                         stream);
    sum_columns_in<1, 1>(DistanceTerms<T>{norm.input, norm.mean, shape.channels}, FinishDeviation{norm.inverse, rows},
                         columns, stream);
  } else {
    launch(measure_groups<T>, {dim3(static_cast<unsigned int>(shape.images * shape.groups)), dim3(kThreads)}, stream,
           norm);
  }
  if (norm.output != nullptr)
    launch(normalise<T>, thread_each(shape.rows() * shape.channels), stream, norm, place_in(shape));
}

template <class T>
void channel_norm_backward(const ChannelNormBackward<T>& norm, Stream stream) {
  const ChannelNormShape& shape = norm.shape;
  auto* means = reinterpret_cast<float*>(norm.scratch);
  const GradientTerms<T> terms{norm.input, norm.output_grad, norm.mean, norm.inverse, place_in(shape)};
  const FinishGradients finish{AddToGradients{{norm.weight_grad, norm.bias_grad}}, shape.groups == 0 ? means : nullptr,
                               shape.channels, static_cast<float>(shape.rows())};
  sum_columns_in<2, 1>(terms, finish, columns_of(shape, norm.scratch), stream);
  if (shape.groups == 0) {
    launch(batch_input_grad<T>, thread_each(shape.rows() * shape.channels), stream, norm,
           static_cast<const float*>(means));
  } else {
    launch(group_input_grad<T>, {dim3(static_cast<unsigned int>(shape.images * shape.groups)), dim3(kThreads)}, stream,
           norm);
  }
}

template void channel_norm_forward(const ChannelNormForward<float>&, Stream);
template void channel_norm_forward(const ChannelNormForward<BFloat16>&, Stream);
template void channel_norm_backward(const ChannelNormBackward<float>&, Stream);
template void channel_norm_backward(const ChannelNormBackward<BFloat16>&, Stream);

}  // namespace plumb::kernels
