#include "trainer/cuda/kernels/image.hpp"

#include "trainer/cuda/kernels/platform.cuh"

namespace plumb::kernels {

namespace {

constexpr unsigned int kThreads = 256;

LaunchShape thread_each(std::int64_t count) {
  return {dim3(static_cast<unsigned int>(ceil_div(count, kThreads))), dim3(kThreads)};
}
__device__ inline std::int64_t number_of_thread() {
  return static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
}

/// Place of an input pixel in the image's list of pixels; negative in the padding.
__device__ inline std::int64_t pixel_at(const ImageWindow& window, std::int64_t out_pixel, std::int64_t place) {
  const std::int64_t x = out_pixel % window.out_columns;
  const std::int64_t y = out_pixel / window.out_columns % window.out_height;
  const std::int64_t image = out_pixel / window.out_columns / window.out_height;
  const std::int64_t line = y * window.stride - window.padding + place / window.kernel_columns;
  const std::int64_t column = x * window.stride - window.padding + place % window.kernel_columns;
  if (line < 0 || line >= window.height || column < 0 || column >= window.columns) return -1;
  return (image * window.height + line) * window.columns + column;
}

/// f(output pixel, place in its window) for all windows that a pixel is in, in the order of the output pixels.
template <class F>
__device__ inline void for_windows(const ImageWindow& window, std::int64_t pixel, F f) {
  // Inside an image 32 bits are enough, and divide without a call.
  const auto column = static_cast<std::int32_t>(pixel % window.columns + window.padding);
  const auto line = static_cast<std::int32_t>(pixel / window.columns % window.height + window.padding);
  const std::int64_t image = pixel / window.columns / window.height;
  const auto stride = static_cast<std::int32_t>(window.stride);
  const auto first = [&](std::int32_t at, std::int64_t size) {
    const auto kernel = static_cast<std::int32_t>(size);
    return at < kernel ? 0 : (at - kernel) / stride + 1;
  };
  for (std::int32_t y = first(line, window.kernel_height); y * stride <= line && y < window.out_height; ++y) {
    for (std::int32_t x = first(column, window.kernel_columns); x * stride <= column && x < window.out_columns; ++x) {
      const std::int64_t place = (line - y * stride) * window.kernel_columns + (column - x * stride);
      f((image * window.out_height + y) * window.out_columns + x, place);
    }
  }
}

template <class T, int N>
__global__ void __launch_bounds__(kThreads) lay_out(ImageWindow window, const T* images, T* patches) {
  const std::int64_t at = number_of_thread() * N;
  const std::int64_t places = window.kernel_height * window.kernel_columns;
  if (at >= window.images * window.out_height * window.out_columns * places * window.channels) return;
  const std::int64_t channel = at % window.channels;
  const std::int64_t place = at / window.channels % places;
  const std::int64_t pixel = pixel_at(window, at / window.channels / places, place);
  store(patches + at, pixel < 0 ? Pack<T, N>{} : load<N>(images + pixel * window.channels + channel));
}

template <class T, int N>
__global__ void __launch_bounds__(kThreads) gather(ImageWindow window, const T* patches, T* images) {
  const std::int64_t at = number_of_thread() * N;
  if (at >= window.images * window.height * window.columns * window.channels) return;
  const std::int64_t channel = at % window.channels;
  float sums[N] = {};
  for_windows(window, at / window.channels, [&](std::int64_t out_pixel, std::int64_t place) {
    const std::int64_t places = window.kernel_height * window.kernel_columns;
    const Pack<T, N> pack = load<N>(patches + (out_pixel * places + place) * window.channels + channel);
#pragma unroll
    for (int i = 0; i < N; ++i) sums[i] += to_float(pack.v[i]);
  });
  Pack<T, N> result;
#pragma unroll
  for (int i = 0; i < N; ++i) result.v[i] = from_float<T>(sums[i]);
  store(images + at, result);
}

template <class T>
__global__ void __launch_bounds__(kThreads) pool_largest(MaxPool<T> pool) {
  const ImageWindow& window = pool.window;
  const std::int64_t at = number_of_thread();
  if (at >= window.images * window.out_height * window.out_columns * window.channels) return;
  const std::int64_t channel = at % window.channels;
  T largest{};
  int best = -1;
  for (int place = 0; place < static_cast<int>(window.kernel_height * window.kernel_columns); ++place) {
    const std::int64_t pixel = pixel_at(window, at / window.channels, place);
    if (pixel < 0) continue;
    const T x = pool.input[pixel * window.channels + channel];
    if (best >= 0 && !(to_float(x) > to_float(largest))) continue;
    largest = x;
    best = place;
  }
  pool.largest[at] = static_cast<unsigned char>(best);
  if (pool.output != nullptr) pool.output[at] = largest;
}

template <class T>
__global__ void __launch_bounds__(kThreads) pool_largest_grad(MaxPoolGrad<T> pool) {
  const ImageWindow& window = pool.window;
  const std::int64_t at = number_of_thread();
  if (at >= window.images * window.height * window.columns * window.channels) return;
  const std::int64_t channel = at % window.channels;
  float sum = 0;
  for_windows(window, at / window.channels, [&](std::int64_t out_pixel, std::int64_t place) {
    const std::int64_t out = out_pixel * window.channels + channel;
    if (pool.largest[out] == place) sum += to_float(pool.output_grad[out]);
  });
  pool.input_grad[at] = from_float<T>(sum);
}

template <class T>
__global__ void __launch_bounds__(kThreads) pool_mean(ImageWindow window, const T* input, T* output) {
  const std::int64_t at = number_of_thread();
  if (at >= window.images * window.out_height * window.out_columns * window.channels) return;
  const std::int64_t places = window.kernel_height * window.kernel_columns;
  float sum = 0;
  for (std::int64_t place = 0; place < places; ++place) {
    const std::int64_t pixel = pixel_at(window, at / window.channels, place);
    if (pixel >= 0) sum += to_float(input[pixel * window.channels + at % window.channels]);
  }
  output[at] = from_float<T>(sum * (1.0F / static_cast<float>(places)));
}

template <class T>
__global__ void __launch_bounds__(kThreads) pool_mean_grad(ImageWindow window, const T* output_grad, T* input_grad) {
  const std::int64_t at = number_of_thread();
  if (at >= window.images * window.height * window.columns * window.channels) return;
  const float share = 1.0F / static_cast<float>(window.kernel_height * window.kernel_columns);
  float sum = 0;
  for_windows(window, at / window.channels, [&](std::int64_t out_pixel, std::int64_t) {
    sum += to_float(output_grad[out_pixel * window.channels + at % window.channels]) * share;
  });
  input_grad[at] = from_float<T>(sum);
}

/// Eight numbers: a byte of bits.
template <class T>
__global__ void __launch_bounds__(kThreads) keep_positive(Relu<T> of) {
  const std::int64_t begin = number_of_thread() * 8;
  if (begin >= of.count) return;
  unsigned int bits = 0;
  for (int i = 0; i < 8 && begin + i < of.count; ++i) {
    const T x = of.input[begin + i];
    const bool positive = to_float(x) > 0.0F;
    bits |= (positive ? 1U : 0U) << i;
    if (of.output != nullptr) of.output[begin + i] = positive ? x : from_float<T>(0.0F);
  }
  of.positive[begin / 8] = static_cast<unsigned char>(bits);
}

template <class T>
__global__ void __launch_bounds__(kThreads) pass_positive(ReluGrad<T> of) {
  const std::int64_t begin = number_of_thread() * 8;
  if (begin >= of.count) return;
  const unsigned int bits = of.positive[begin / 8];
  for (int i = 0; i < 8 && begin + i < of.count; ++i) {
    of.input_grad[begin + i] = (bits >> i & 1U) != 0 ? of.output_grad[begin + i] : from_float<T>(0.0F);
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads) scale_bytes(const std::int32_t* bytes, T* output, std::int64_t count) {
  const std::int64_t at = number_of_thread();
  if (at < count) output[at] = from_float<T>((static_cast<float>(bytes[at]) / 255.0F - 0.5F) * 4.0F);
}

}  // namespace

template <class T>
void lay_out_patches(const ImageWindow& window, const T* images, T* patches, Stream stream) {
  const std::int64_t numbers = window.out_pixels() * window.places() * window.channels;
  if (in_packs<T>(window.channels, images, patches)) {
    launch(lay_out<T, kVector<T>>, thread_each(numbers / kVector<T>), stream, window, images, patches);
  } else {
    launch(lay_out<T, 1>, thread_each(numbers), stream, window, images, patches);
  }
}

template <class T>
void gather_patches(const ImageWindow& window, const T* patches, T* images, Stream stream) {
  const std::int64_t numbers = window.pixels() * window.channels;
  if (in_packs<T>(window.channels, images, patches)) {
    launch(gather<T, kVector<T>>, thread_each(numbers / kVector<T>), stream, window, patches, images);
  } else {
    launch(gather<T, 1>, thread_each(numbers), stream, window, patches, images);
  }
}

template <class T>
void max_pool(const MaxPool<T>& pool, Stream stream) {
  launch(pool_largest<T>, thread_each(pool.window.out_pixels() * pool.window.channels), stream, pool);
}
template <class T>
void max_pool_grad(const MaxPoolGrad<T>& pool, Stream stream) {
  launch(pool_largest_grad<T>, thread_each(pool.window.pixels() * pool.window.channels), stream, pool);
}
template <class T>
void average_pool(const ImageWindow& window, const T* input, T* output, Stream stream) {
  launch(pool_mean<T>, thread_each(window.out_pixels() * window.channels), stream, window, input, output);
}
template <class T>
void average_pool_grad(const ImageWindow& window, const T* output_grad, T* input_grad, Stream stream) {
  launch(pool_mean_grad<T>, thread_each(window.pixels() * window.channels), stream, window, output_grad, input_grad);
}
template <class T>
void relu(const Relu<T>& of, Stream stream) {
  launch(keep_positive<T>, thread_each(ceil_div(of.count, 8)), stream, of);
}
template <class T>
void relu_grad(const ReluGrad<T>& of, Stream stream) {
  launch(pass_positive<T>, thread_each(ceil_div(of.count, 8)), stream, of);
}
template <class T>
void pixels(const std::int32_t* bytes, T* output, std::int64_t count, Stream stream) {
  launch(scale_bytes<T>, thread_each(count), stream, bytes, output, count);
}

template void lay_out_patches(const ImageWindow&, const float*, float*, Stream);
template void lay_out_patches(const ImageWindow&, const BFloat16*, BFloat16*, Stream);
template void gather_patches(const ImageWindow&, const float*, float*, Stream);
template void gather_patches(const ImageWindow&, const BFloat16*, BFloat16*, Stream);
template void max_pool(const MaxPool<float>&, Stream);
template void max_pool(const MaxPool<BFloat16>&, Stream);
template void max_pool_grad(const MaxPoolGrad<float>&, Stream);
template void max_pool_grad(const MaxPoolGrad<BFloat16>&, Stream);
template void average_pool(const ImageWindow&, const float*, float*, Stream);
template void average_pool(const ImageWindow&, const BFloat16*, BFloat16*, Stream);
template void average_pool_grad(const ImageWindow&, const float*, float*, Stream);
template void average_pool_grad(const ImageWindow&, const BFloat16*, BFloat16*, Stream);
template void relu(const Relu<float>&, Stream);
template void relu(const Relu<BFloat16>&, Stream);
template void relu_grad(const ReluGrad<float>&, Stream);
template void relu_grad(const ReluGrad<BFloat16>&, Stream);
template void pixels(const std::int32_t*, float*, std::int64_t, Stream);
template void pixels(const std::int32_t*, BFloat16*, std::int64_t, Stream);

}  // namespace plumb::kernels
