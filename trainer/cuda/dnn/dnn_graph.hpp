#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "trainer/cuda/dnn/dnn_descriptor.hpp"

namespace plumb::cuda {

/// Four sizes or strides, outermost first: sample, head, and rows and columns of a matrix.
using DnnDims = std::array<std::int64_t, 4>;

/// Packed strides.
inline DnnDims packed(const DnnDims& sizes) {
  DnnDims strides{};
  std::int64_t stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= sizes[i];
  }
  return strides;
}

/// Numbers of a graph: in memory, between two operations, or one number given by value.
struct DnnTensor {
  cudnnBackendDescriptor_t descriptor = nullptr;
  std::int64_t uid = 0;
  DnnDims sizes{};
  DnnDims strides{};
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  bool is_between = false;  ///< two operations: nobody else sees it
};

/// How the windows of a convolution slide over lines and columns.
struct DnnWindows {
  std::int64_t stride = 1;
  std::int64_t padding = 0;
};

/// An operation of a graph as it was asked for: cuDNN does not give its own back.
struct DnnStep {
  enum class Kind : std::uint8_t { kMultiply, kRelabel, kReduce, kApply, kConvolve, kBackToImages, kBackToFilters };
  Kind kind;
  DnnTensor x;
  std::optional<DnnTensor> y;  ///< second operand
  std::optional<DnnTensor> chooses;
  DnnTensor to;
  cudnnPointwiseMode_t mode{};  ///< mode of kApply
  std::int64_t axis = -1;
  cudnnReduceTensorOp_t by{};  ///< operation of kReduce
  DnnWindows windows{};        ///< windows of the convolutions
};

/// Operations of cuDNN, put together one by one, that a plan does in one go.
class DnnGraph {
 public:
  /// Adds a tensor in memory, at a multiple of 16 bytes.
  DnnTensor in_memory(cudnnDataType_t type, const DnnDims& sizes, const DnnDims& strides);
  DnnTensor between(cudnnDataType_t type, const DnnDims& sizes, const DnnDims& strides);
  DnnTensor between(cudnnDataType_t type, const DnnDims& sizes) { return between(type, sizes, packed(sizes)); }
  DnnTensor number(float value);
  DnnTensor number(std::int32_t value);

  void multiply(const DnnTensor& a, const DnnTensor& b, const DnnTensor& to);
  /// Gives matrices other sizes or strides.
  void relabel(const DnnTensor& from, const DnnTensor& to);
  void reduce(cudnnReduceTensorOp_t by, const DnnTensor& from, const DnnTensor& to);

  // Sizes are images, channels, lines, columns; of filters: filters, channels, lines, columns.
  void convolve(const DnnWindows& windows, const DnnTensor& images, const DnnTensor& filters, const DnnTensor& outputs);
  void convolve_back_to_images(const DnnWindows& windows, const DnnTensor& output_grad, const DnnTensor& filters,
                               const DnnTensor& image_grad);
  void convolve_back_to_filters(const DnnWindows& windows, const DnnTensor& images, const DnnTensor& output_grad,
                                const DnnTensor& filter_grad);

  /// One operation on every number. `y` where the mode has two operands, `chooses` for BINARY_SELECT, `axis` for
  /// GEN_INDEX.
  struct Pointwise {
    cudnnPointwiseMode_t mode;
    cudnnDataType_t precision = CUDNN_DATA_FLOAT;
    const DnnTensor* y = nullptr;
    const DnnTensor* chooses = nullptr;
    std::int64_t axis = -1;
  };
  void apply(const Pointwise& operation, const DnnTensor& x, const DnnTensor& to);
  /// Applies an operation to a result between operations, as large as `x`.
  DnnTensor apply(const Pointwise& operation, const DnnTensor& x, cudnnDataType_t type = CUDNN_DATA_FLOAT);

  /// Returns the finalized graph. `handle` may be null where plans are made for a device that is not there.
  DnnDescriptor finish(cudnnHandle_t handle) const;

  /// A number by value, as a plan wants it when it runs.
  struct Number {
    std::int64_t uid;
    std::array<std::byte, 4> bytes;
  };
  const std::deque<Number>& numbers() const { return numbers_; }
  /// Returns the steps in the order in which they were added.
  const std::vector<DnnStep>& steps() const { return steps_; }

 private:
  enum class Place : std::uint8_t { kMemory, kBetween, kValue };
  DnnTensor tensor(cudnnDataType_t type, const DnnDims& sizes, const DnnDims& strides, Place place);
  DnnTensor by_value(cudnnDataType_t type, const void* value);
  cudnnBackendDescriptor_t keep(DnnDescriptor descriptor);
  void add(DnnDescriptor operation, const DnnStep& step);

  std::vector<DnnDescriptor> kept_;
  std::vector<cudnnBackendDescriptor_t> operations_;
  std::vector<DnnStep> steps_;
  std::deque<Number> numbers_;
  std::int64_t tensors_ = 0;
};

/// A graph, and the uids of what it has in memory, in an order that its maker says.
struct DnnOperations {
  DnnGraph graph;
  std::vector<std::int64_t> memory;
};

}  // namespace plumb::cuda
