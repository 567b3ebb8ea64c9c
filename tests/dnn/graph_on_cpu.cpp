#include "tests/dnn/graph_on_cpu.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace plumb::cuda {

namespace {

/// The element of a tensor that stands for `at` of something as large as `whole`: heads may share it, sizes of 1
/// repeat.
std::int64_t offset(const DnnTensor& of, const DnnDims& at, const DnnDims& whole) {
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < at.size(); ++i) offset += at[i] * of.sizes[i] / whole[i] * of.strides[i];
  return offset;
}

double rounded(const DnnTensor& of, double value) {
  if (of.type == CUDNN_DATA_BFLOAT16) return rounded_to_bf16(value);
  return of.type == CUDNN_DATA_FLOAT ? static_cast<double>(static_cast<float>(value)) : value;
}

std::int64_t count(const DnnDims& sizes) { return sizes[0] * sizes[1] * sizes[2] * sizes[3]; }

void each(const DnnDims& sizes, const std::function<void(const DnnDims&)>& visit) {
  DnnDims at{};
  for (at[0] = 0; at[0] < sizes[0]; ++at[0]) {
    for (at[1] = 0; at[1] < sizes[1]; ++at[1]) {
      for (at[2] = 0; at[2] < sizes[2]; ++at[2]) {
        for (at[3] = 0; at[3] < sizes[3]; ++at[3]) visit(at);
      }
    }
  }
}

double pointwise(cudnnPointwiseMode_t mode, double x, double y, bool chooses) {
  switch (mode) {
    case CUDNN_POINTWISE_ADD:
      return x + y;
    case CUDNN_POINTWISE_SUB:
      return x - y;
    case CUDNN_POINTWISE_MUL:
      return x * y;
    case CUDNN_POINTWISE_DIV:
      return x / y;
    case CUDNN_POINTWISE_EXP:
      return std::exp(x);
    case CUDNN_POINTWISE_LOG:
      return std::log(x);
    case CUDNN_POINTWISE_CMP_GE:
      return x >= y ? 1 : 0;
    case CUDNN_POINTWISE_BINARY_SELECT:
      return chooses ? x : y;
    default:
      throw std::logic_error("pointwise mode " + std::to_string(mode));
  }
}

class CpuGraph {
 public:
  CpuGraph(const NumbersByValue& numbers, const std::map<std::int64_t, double*>& memory)
      : at_(memory), numbers_(numbers) {}

  void run(const DnnStep& step) {
    switch (step.kind) {
      case DnnStep::Kind::kMultiply:
        return multiply(step);
      case DnnStep::Kind::kRelabel:  // the same numbers, found at the same distance from their beginning
        at_[step.to.uid] = values(step.x);
        return;
      case DnnStep::Kind::kReduce:
        return reduce(step);
      case DnnStep::Kind::kApply:
        return apply(step);
      case DnnStep::Kind::kConvolve:
      case DnnStep::Kind::kBackToImages:
      case DnnStep::Kind::kBackToFilters:
        return convolve(step);
    }
  }

 private:
  double* values(const DnnTensor& of) {
    if (const auto known = at_.find(of.uid); known != at_.end()) return known->second;
    if (const auto number = numbers_.find(of.uid); number != numbers_.end()) {
      own_.emplace_back(1, value_of(of.type, number->second));
    } else {
      if (!of.is_between) throw std::logic_error("memory of " + std::to_string(of.uid) + " is missing");
      std::int64_t last = 0;
      for (std::size_t i = 0; i < of.sizes.size(); ++i) last += (of.sizes[i] - 1) * of.strides[i];
      own_.emplace_back(static_cast<std::size_t>(last + 1), std::numeric_limits<double>::quiet_NaN());
    }
    return at_[of.uid] = own_.back().data();
  }

  static double value_of(cudnnDataType_t type, const std::array<std::byte, 4>& bytes) {
    float real = 0;
    std::int32_t whole = 0;
    std::memcpy(&real, bytes.data(), bytes.size());
    std::memcpy(&whole, bytes.data(), bytes.size());
    return type == CUDNN_DATA_FLOAT ? static_cast<double>(real) : whole;
  }

  double value(const DnnTensor& of, const DnnDims& at, const DnnDims& whole) {
    return rounded(of, values(of)[offset(of, at, whole)]);
  }
  void put(const DnnTensor& to, const DnnDims& at, double number) {
    values(to)[offset(to, at, to.sizes)] = rounded(to, number);
  }

  void multiply(const DnnStep& step) {
    const DnnDims& c = step.to.sizes;
    const std::int64_t depth = step.x.sizes[3];
    each(c, [&](const DnnDims& at) {
      double sum = 0;
      for (std::int64_t k = 0; k < depth; ++k) {
        sum += value(step.x, {at[0], at[1], at[2], k}, {c[0], c[1], c[2], depth}) *
               value(*step.y, {at[0], at[1], k, at[3]}, {c[0], c[1], depth, c[3]});
      }
      put(step.to, at, sum);
    });
  }

  void reduce(const DnnStep& step) {
    const bool adds = step.by == CUDNN_REDUCE_TENSOR_ADD;
    const DnnDims& to = step.to.sizes;
    const DnnDims dense = packed(to);
    std::vector<double> sums(static_cast<std::size_t>(count(to)), adds ? 0 : -std::numeric_limits<double>::infinity());
    each(step.x.sizes, [&](const DnnDims& at) {
      const double number = value(step.x, at, step.x.sizes);
      std::int64_t place = 0;
      for (std::size_t i = 0; i < at.size(); ++i) place += at[i] * to[i] / step.x.sizes[i] * dense[i];
      double& sum = sums[static_cast<std::size_t>(place)];
      sum = adds ? sum + number : std::max(sum, number);
    });
    std::size_t next = 0;
    each(to, [&](const DnnDims& at) { put(step.to, at, sums[next++]); });
  }

  /// Every product of a pixel, a number of a filter and a number of the output, added to the one that is wanted.
  void convolve(const DnnStep& step) {
    const bool forward = step.kind == DnnStep::Kind::kConvolve;
    const bool to_images = step.kind == DnnStep::Kind::kBackToImages;
    const DnnTensor& images = to_images ? step.to : step.x;
    const DnnTensor& filters = forward || to_images ? *step.y : step.to;
    const DnnTensor& outputs = forward ? step.to : to_images ? step.x : *step.y;
    std::vector<double> sums(static_cast<std::size_t>(count(step.to.sizes)));
    const DnnDims dense = packed(step.to.sizes);
    const auto add = [&](const DnnDims& at, double product) {
      std::int64_t place = 0;
      for (std::size_t i = 0; i < at.size(); ++i) place += at[i] * dense[i];
      sums[static_cast<std::size_t>(place)] += product;
    };
    const DnnWindows& by = step.windows;
    each({outputs.sizes[0], outputs.sizes[2], outputs.sizes[3], 1}, [&](const DnnDims& window) {
      each(filters.sizes, [&](const DnnDims& number) {
        const DnnDims pixel{window[0], number[1], window[1] * by.stride - by.padding + number[2],
                            window[2] * by.stride - by.padding + number[3]};
        if (pixel[2] < 0 || pixel[2] >= images.sizes[2] || pixel[3] < 0 || pixel[3] >= images.sizes[3]) return;
        const DnnDims out{window[0], number[0], window[1], window[2]};
        const auto of = [&](const DnnTensor& tensor, const DnnDims& at) { return value(tensor, at, tensor.sizes); };
        if (forward) return add(out, of(images, pixel) * of(filters, number));
        if (to_images) return add(pixel, of(outputs, out) * of(filters, number));
        add(number, of(images, pixel) * of(outputs, out));
      });
    });
    std::size_t next = 0;
    each(step.to.sizes, [&](const DnnDims& at) { put(step.to, at, sums[next++]); });
  }

  void apply(const DnnStep& step) {
    const DnnDims& whole = step.to.sizes;
    each(whole, [&](const DnnDims& at) {
      if (step.mode == CUDNN_POINTWISE_GEN_INDEX) {
        return put(step.to, at, static_cast<double>(at[static_cast<std::size_t>(step.axis)]));
      }
      const double second = step.y ? value(*step.y, at, whole) : 0;
      const bool chooses = step.chooses && value(*step.chooses, at, whole) != 0;
      put(step.to, at, pointwise(step.mode, value(step.x, at, whole), second, chooses));
    });
  }

  std::map<std::int64_t, double*> at_;
  const NumbersByValue& numbers_;
  std::deque<std::vector<double>> own_;
};

}  // namespace

double rounded_to_bf16(double value) {
  const auto single = static_cast<float>(value);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &single, sizeof(bits));
  bits += 0x7FFFU + (bits >> 16U & 1U);
  bits &= 0xFFFF0000U;
  float result = 0;
  std::memcpy(&result, &bits, sizeof(result));
  return std::isfinite(value) ? static_cast<double>(result) : value;
}

void run_on_cpu(const std::vector<DnnStep>& steps, const NumbersByValue& numbers,
                const std::map<std::int64_t, double*>& memory) {
  CpuGraph cpu(numbers, memory);
  for (const DnnStep& step : steps) cpu.run(step);
}

void run_on_cpu(const DnnGraph& graph, const std::map<std::int64_t, double*>& memory) {
  NumbersByValue numbers;
  for (const DnnGraph::Number& number : graph.numbers()) numbers[number.uid] = number.bytes;
  run_on_cpu(graph.steps(), numbers, memory);
}

}  // namespace plumb::cuda
