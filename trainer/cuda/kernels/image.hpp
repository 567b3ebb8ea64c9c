#pragma once

#include <cstdint>

#include "trainer/cuda/kernels/stream.hpp"
#include "trainer/numbers/number.hpp"

namespace plumb::kernels {

/// Windows that slide over images; pixels by line, the channels of a pixel together.
struct ImageWindow {
  std::int64_t images = 0;
  std::int64_t height = 0;
  std::int64_t columns = 0;
  std::int64_t channels = 0;
  std::int64_t out_height = 0;
  std::int64_t out_columns = 0;
  std::int64_t kernel_height = 0;
  std::int64_t kernel_columns = 0;
  std::int64_t stride = 1;
  std::int64_t padding = 0;

  std::int64_t pixels() const { return images * height * columns; }
  std::int64_t out_pixels() const { return images * out_height * out_columns; }
  std::int64_t places() const { return kernel_height * kernel_columns; }
};

/// A row per output pixel: its window's pixels, line by line; padding is 0.
template <class T>
void lay_out_patches(const ImageWindow& window, const T* images, T* patches, Stream stream);
/// The sum over all windows that a pixel is in, in the order of the output pixels.
template <class T>
void gather_patches(const ImageWindow& window, const T* patches, T* images, Stream stream);

/// Largest of every window; `largest`: its place in the window, of equal ones the first. `output` may be null.
template <class T>
struct MaxPool {
  ImageWindow window;
  const T* input = nullptr;
  T* output = nullptr;
  unsigned char* largest = nullptr;
};
template <class T>
void max_pool(const MaxPool<T>& pool, Stream stream);
template <class T>
struct MaxPoolGrad {
  ImageWindow window;
  const T* output_grad = nullptr;
  const unsigned char* largest = nullptr;
  T* input_grad = nullptr;
};
template <class T>
void max_pool_grad(const MaxPoolGrad<T>& pool, Stream stream);

/// Mean of every window, padding counting as 0.
template <class T>
void average_pool(const ImageWindow& window, const T* input, T* output, Stream stream);
template <class T>
void average_pool_grad(const ImageWindow& window, const T* output_grad, T* input_grad, Stream stream);

/// max(x, 0), with a bit per number where x > 0. `output` may be null.
template <class T>
struct Relu {
  const T* input = nullptr;
  T* output = nullptr;
  unsigned char* positive = nullptr;
  std::int64_t count = 0;
};
template <class T>
void relu(const Relu<T>& of, Stream stream);
template <class T>
struct ReluGrad {
  const T* output_grad = nullptr;
  const unsigned char* positive = nullptr;
  T* input_grad = nullptr;
  std::int64_t count = 0;
};
template <class T>
void relu_grad(const ReluGrad<T>& of, Stream stream);

/// (x / 255 - 1/2) * 4
template <class T>
void pixels(const std::int32_t* bytes, T* output, std::int64_t count, Stream stream);

}  // namespace plumb::kernels
