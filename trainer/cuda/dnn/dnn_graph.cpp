#include "trainer/cuda/dnn/dnn_graph.hpp"

#include <cstring>
#include <span>
#include <utility>

namespace plumb::cuda {

namespace {

constexpr std::int64_t kDnnAlignment = 16;  ///< bytes

/// Sums in float; a filter is laid on as it is, not turned around.
DnnDescriptor convolution_of(const DnnWindows& windows) {
  using Pair = std::array<std::int64_t, 2>;
  const Pair padding{windows.padding, windows.padding};
  const Pair stride{windows.stride, windows.stride};
  const Pair dense{1, 1};
  const auto numbers = [](const Pair& of) { return std::span<const std::int64_t>(of); };
  DnnDescriptor convolution(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  convolution.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  convolution.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION);
  convolution.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, std::int64_t{2});
  convolution.set_all(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, numbers(padding));
  convolution.set_all(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, numbers(padding));
  convolution.set_all(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, numbers(stride));
  convolution.set_all(CUDNN_ATTR_CONVOLUTION_DILATIONS, numbers(dense));
  convolution.finalize("convolution");
  return convolution;
}

}  // namespace

cudnnBackendDescriptor_t DnnGraph::keep(DnnDescriptor descriptor) {
  kept_.push_back(std::move(descriptor));
  return kept_.back().get();
}

void DnnGraph::add(DnnDescriptor operation, const DnnStep& step) {
  operation.finalize("operation of a graph");
  operations_.push_back(keep(std::move(operation)));
  steps_.push_back(step);
}

DnnTensor DnnGraph::tensor(cudnnDataType_t type, const DnnDims& sizes, const DnnDims& strides, Place place) {
  DnnDescriptor descriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  descriptor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, type);
  descriptor.set_all(CUDNN_ATTR_TENSOR_DIMENSIONS, std::span<const std::int64_t>(sizes));
  descriptor.set_all(CUDNN_ATTR_TENSOR_STRIDES, std::span<const std::int64_t>(strides));
  descriptor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kDnnAlignment);
  descriptor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, ++tensors_);
  descriptor.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, place == Place::kBetween);
  if (place == Place::kValue) descriptor.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, true);
  descriptor.finalize("tensor of a graph");
  return {keep(std::move(descriptor)), tensors_, sizes, strides, type, place == Place::kBetween};
}

DnnTensor DnnGraph::in_memory(cudnnDataType_t type, const DnnDims& sizes, const DnnDims& strides) {
  return tensor(type, sizes, strides, Place::kMemory);
}

DnnTensor DnnGraph::between(cudnnDataType_t type, const DnnDims& sizes, const DnnDims& strides) {
  return tensor(type, sizes, strides, Place::kBetween);
}

DnnTensor DnnGraph::by_value(cudnnDataType_t type, const void* value) {
  const DnnTensor result = tensor(type, {1, 1, 1, 1}, {1, 1, 1, 1}, Place::kValue);
  Number number{result.uid, {}};
  std::memcpy(number.bytes.data(), value, number.bytes.size());
  numbers_.push_back(number);
  return result;
}
DnnTensor DnnGraph::number(float value) { return by_value(CUDNN_DATA_FLOAT, &value); }
DnnTensor DnnGraph::number(std::int32_t value) { return by_value(CUDNN_DATA_INT32, &value); }

void DnnGraph::multiply(const DnnTensor& a, const DnnTensor& b, const DnnTensor& to) {
  DnnDescriptor product(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  product.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT);
  product.finalize("matrix product");
  DnnDescriptor operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, to.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, keep(std::move(product)));
  add(std::move(operation), {.kind = DnnStep::Kind::kMultiply, .x = a, .y = b, .chooses = {}, .to = to});
}

void DnnGraph::relabel(const DnnTensor& from, const DnnTensor& to) {
  DnnDescriptor operation(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, from.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, to.descriptor);
  add(std::move(operation), {.kind = DnnStep::Kind::kRelabel, .x = from, .y = {}, .chooses = {}, .to = to});
}

void DnnGraph::reduce(cudnnReduceTensorOp_t by, const DnnTensor& from, const DnnTensor& to) {
  DnnDescriptor reduction(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  reduction.set(CUDNN_ATTR_REDUCTION_OPERATOR, by);
  reduction.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  reduction.finalize("reduction");
  DnnDescriptor operation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, from.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, to.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, keep(std::move(reduction)));
  add(std::move(operation), {.kind = DnnStep::Kind::kReduce, .x = from, .y = {}, .chooses = {}, .to = to, .by = by});
}

void DnnGraph::apply(const Pointwise& of, const DnnTensor& x, const DnnTensor& to) {
  DnnDescriptor pointwise(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  pointwise.set(CUDNN_ATTR_POINTWISE_MODE, of.mode);
  pointwise.set(CUDNN_ATTR_POINTWISE_MATH_PREC, of.precision);
  if (of.axis >= 0) pointwise.set(CUDNN_ATTR_POINTWISE_AXIS, of.axis);
  pointwise.finalize("pointwise operation");
  DnnDescriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, keep(std::move(pointwise)));
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x.descriptor);
  if (of.y != nullptr) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, of.y->descriptor);
  if (of.chooses != nullptr) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, of.chooses->descriptor);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, to.descriptor);
  DnnStep step{
      .kind = DnnStep::Kind::kApply, .x = x, .y = {}, .chooses = {}, .to = to, .mode = of.mode, .axis = of.axis};
  if (of.y != nullptr) step.y = *of.y;
  if (of.chooses != nullptr) step.chooses = *of.chooses;
  add(std::move(operation), step);
}

void DnnGraph::convolve(const DnnWindows& windows, const DnnTensor& images, const DnnTensor& filters,
                        const DnnTensor& outputs) {
  DnnDescriptor operation(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, images.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, filters.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, outputs.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, keep(convolution_of(windows)));
  operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 1.0F);
  operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, 0.0F);
  add(std::move(operation),
      {.kind = DnnStep::Kind::kConvolve, .x = images, .y = filters, .chooses = {}, .to = outputs, .windows = windows});
}

void DnnGraph::convolve_back_to_images(const DnnWindows& windows, const DnnTensor& output_grad,
                                       const DnnTensor& filters, const DnnTensor& image_grad) {
  DnnDescriptor operation(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, output_grad.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, filters.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, image_grad.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, keep(convolution_of(windows)));
  operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, 1.0F);
  operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, 0.0F);
  add(std::move(operation), {.kind = DnnStep::Kind::kBackToImages,
                             .x = output_grad,
                             .y = filters,
                             .chooses = {},
                             .to = image_grad,
                             .windows = windows});
}

void DnnGraph::convolve_back_to_filters(const DnnWindows& windows, const DnnTensor& images,
                                        const DnnTensor& output_grad, const DnnTensor& filter_grad) {
  DnnDescriptor operation(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, images.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, output_grad.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, filter_grad.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, keep(convolution_of(windows)));
  operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, 1.0F);
  operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, 0.0F);
  add(std::move(operation), {.kind = DnnStep::Kind::kBackToFilters,
                             .x = images,
                             .y = output_grad,
                             .chooses = {},
                             .to = filter_grad,
                             .windows = windows});
}

DnnTensor DnnGraph::apply(const Pointwise& operation, const DnnTensor& x, cudnnDataType_t type) {
  const DnnTensor to = between(type, x.sizes);
  apply(operation, x, to);
  return to;
}

DnnDescriptor DnnGraph::finish(cudnnHandle_t handle) const {
  DnnDescriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set_all(CUDNN_ATTR_OPERATIONGRAPH_OPS, std::span<const cudnnBackendDescriptor_t>(operations_));
  if (handle != nullptr) graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, handle);
  graph.finalize("graph of operations");
  return graph;
}

}  // namespace plumb::cuda
