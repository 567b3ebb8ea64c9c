#include "trainer/cuda/dnn_check.hpp"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>

#include "trainer/cuda/cuda_call.hpp"

namespace plumb::cuda {

namespace {

constexpr double kMostOfBf16 = 2e-2;
constexpr double kMostOfFloat = 1e-3;

float from_bf16(std::uint16_t bits) {
  const std::uint32_t whole = static_cast<std::uint32_t>(bits) << 16U;
  float value = 0;
  std::memcpy(&value, &whole, sizeof(value));
  return value;
}

std::vector<float> values_of(const DnnResult& result, cudaStream_t stream) {
  const std::size_t size = result.is_float ? sizeof(float) : sizeof(std::uint16_t);
  const auto count = static_cast<std::size_t>(result.width * result.count);
  std::vector<std::byte> bytes(count * size);
  const std::size_t width = static_cast<std::size_t>(result.width) * size;
  PLUMB_CUDA_CALL(cudaMemcpy2DAsync(bytes.data(), width, result.rows, static_cast<std::size_t>(result.stride) * size,
                                    width, static_cast<std::size_t>(result.count), cudaMemcpyDeviceToHost, stream));
  PLUMB_CUDA_CALL(cudaStreamSynchronize(stream));
  std::vector<float> values(count);
  if (result.is_float) {
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * size, size);
    values[i] = from_bf16(bits);
  }
  return values;
}

}  // namespace

double relative_difference(std::span<const float> a, std::span<const float> b) {
  double difference = 0;
  double whole = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    const double apart = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    difference += apart * apart;
    whole += static_cast<double>(b[i]) * static_cast<double>(b[i]);
  }
  if (difference == 0) return 0;
  const double relative = std::sqrt(difference / whole);
  return std::isfinite(relative) ? relative : std::numeric_limits<double>::infinity();
}

std::vector<DnnResult> results_of(const kernels::AttentionForward<kernels::BFloat16>& attention) {
  const kernels::AttentionShape& shape = attention.shape;
  const std::int64_t tokens = shape.samples * shape.sequence;
  const std::int64_t width = shape.heads * shape.head_width;
  return {{"attended", attention.attended.rows, attention.attended.stride, width, tokens, false},
          {"log sums", attention.log_sums, shape.heads, shape.heads, tokens, true}};
}

std::vector<DnnResult> results_of(const kernels::AttentionBackward<kernels::BFloat16>& attention) {
  const kernels::AttentionShape& shape = attention.shape;
  const std::int64_t width = shape.heads * shape.head_width;
  const std::int64_t keys_width = width / shape.group;
  const std::int64_t keys = shape.samples * shape.keys();
  return {{"the gradient of queries", attention.query_grad.rows, attention.query_grad.stride, width,
           shape.samples * shape.sequence, false},
          {"the gradient of keys", attention.key_grad.rows, attention.key_grad.stride, keys_width, keys, false},
          {"the gradient of values", attention.value_grad.rows, attention.value_grad.stride, keys_width, keys, false}};
}

std::vector<DnnResult> results_of(const kernels::ConvolutionCall<kernels::BFloat16>& call) {
  const kernels::ConvolutionShape& shape = call.shape;
  const auto whole = [](const char* name, const void* numbers, std::int64_t width, std::int64_t count) {
    return DnnResult{.name = name, .rows = numbers, .stride = width, .width = width, .count = count};
  };
  const std::int64_t patch = shape.window.places() * shape.window.channels;
  switch (call.pass) {
    case kernels::ConvolutionPass::kForward:
      return {whole("the output", call.result, shape.filters, shape.window.out_pixels())};
    case kernels::ConvolutionPass::kInputGrad:
      return {whole("the gradient of images", call.result, shape.window.channels, shape.window.pixels())};
    case kernels::ConvolutionPass::kWeightGrad:
      break;
  }
  DnnResult filters = whole("the gradient of filters", call.filter_grad, patch, shape.filters);
  filters.is_float = filters.from_bf16 = true;
  return {filters};
}

std::vector<std::vector<float>> values_of(const std::vector<DnnResult>& results, cudaStream_t stream) {
  std::vector<std::vector<float>> values;
  for (const DnnResult& result : results) values.push_back(values_of(result, stream));
  return values;
}

std::string difference_of(const std::vector<DnnResult>& results, const std::vector<std::vector<float>>& values,
                          const std::vector<std::vector<float>>& ours) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    const double difference = relative_difference(values[i], ours[i]);
    if (difference <= (results[i].is_float && !results[i].from_bf16 ? kMostOfFloat : kMostOfBf16)) continue;
    char text[32];
    std::snprintf(text, sizeof(text), "%.2g", difference);
    return results[i].name + " by cuDNN differs by " + text + " from our kernels";
  }
  return "";
}

}  // namespace plumb::cuda
