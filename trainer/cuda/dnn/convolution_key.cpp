#include "trainer/cuda/dnn/convolution_key.hpp"

#include <algorithm>

namespace plumb::cuda {

namespace {

constexpr std::int64_t kChannels = 8;  ///< channels in 16 bytes: what a convolution in bf16 reads at a time
constexpr std::int64_t kBf16Bytes = 2;

std::int64_t padded_bytes(std::int64_t pixels, std::int64_t channels) {
  return pixels * ((channels + kChannels - 1) / kChannels * kChannels) * kBf16Bytes;
}

std::string by(std::int64_t height, std::int64_t columns) {
  return std::to_string(height) + "x" + std::to_string(columns);
}

const char* name_of(kernels::ConvolutionPass pass) {
  switch (pass) {
    case kernels::ConvolutionPass::kForward:
      return "forward";
    case kernels::ConvolutionPass::kInputGrad:
      return "input";
    case kernels::ConvolutionPass::kWeightGrad:
      return "weight";
  }
  return "";
}

}  // namespace

ConvolutionKey key_of(kernels::ConvolutionPass pass, const kernels::ConvolutionShape& shape, int sms) {
  const kernels::ImageWindow& window = shape.window;
  return {.pass = pass,
          .images = window.images,
          .height = window.height,
          .columns = window.columns,
          .channels = window.channels,
          .filters = shape.filters,
          .kernel_height = window.kernel_height,
          .kernel_columns = window.kernel_columns,
          .out_height = window.out_height,
          .out_columns = window.out_columns,
          .stride = window.stride,
          .padding = window.padding,
          .sms = sms};
}

std::string text_of(const ConvolutionKey& key) {
  return std::string(name_of(key.pass)) + " n" + std::to_string(key.images) + " " + by(key.height, key.columns) + " c" +
         std::to_string(key.channels) + " f" + std::to_string(key.filters) + " k" +
         by(key.kernel_height, key.kernel_columns) + " s" + std::to_string(key.stride) + " p" +
         std::to_string(key.padding) + " sms" + std::to_string(key.sms);
}

std::int64_t filter_grad_bytes(const kernels::ConvolutionShape& shape) {
  return (shape.filter_numbers() * kBf16Bytes + 255) / 256 * 256;
}

std::int64_t convolution_workspace_bytes(const kernels::ConvolutionShape& shape) {
  constexpr std::int64_t kRest = std::int64_t{16} << 20;
  const kernels::ImageWindow& window = shape.window;
  const bool copies = window.channels % kChannels != 0 || shape.filters % kChannels != 0;
  const std::int64_t copied =
      copies ? padded_bytes(window.pixels(), window.channels) + padded_bytes(window.out_pixels(), shape.filters) : 0;
  return filter_grad_bytes(shape) + copied + kRest;
}

std::string not_asked_because(const ConvolutionKey& key) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;  // numbers that the library counts in 32 bits
  const std::int64_t images = key.images * key.height * key.columns * key.channels;
  const std::int64_t outputs = key.images * key.out_height * key.out_columns * key.filters;
  return std::max(images, outputs) >= kMost ? "images of " + std::to_string(std::max(images, outputs)) + " numbers"
                                            : "";
}

}  // namespace plumb::cuda
