#include "trainer/cuda/dnn/convolution_graphs.hpp"

namespace plumb::cuda {

namespace {

/// Returns the sizes in cuDNN's order (image, channel, line, column); in memory the channels of a pixel are together.
DnnTensor pixels_of(DnnGraph& graph, const DnnDims& sizes) {
  const std::int64_t line = sizes[3] * sizes[1];
  return graph.in_memory(CUDNN_DATA_BFLOAT16, sizes, {sizes[2] * line, 1, line, sizes[1]});
}

}  // namespace

DnnOperations convolution_graph(const ConvolutionKey& key) {
  DnnOperations result;
  DnnGraph& graph = result.graph;
  const DnnTensor images = pixels_of(graph, {key.images, key.channels, key.height, key.columns});
  const DnnTensor filters = pixels_of(graph, {key.filters, key.channels, key.kernel_height, key.kernel_columns});
  const DnnTensor outputs = pixels_of(graph, {key.images, key.filters, key.out_height, key.out_columns});
  const DnnWindows windows{key.stride, key.padding};
  switch (key.pass) {
    case kernels::ConvolutionPass::kForward:
      graph.convolve(windows, images, filters, outputs);
      result.memory = {images.uid, filters.uid, outputs.uid};
      break;
    case kernels::ConvolutionPass::kInputGrad:
      graph.convolve_back_to_images(windows, outputs, filters, images);
      result.memory = {outputs.uid, filters.uid, images.uid};
      break;
    case kernels::ConvolutionPass::kWeightGrad:
      graph.convolve_back_to_filters(windows, images, outputs, filters);
      result.memory = {images.uid, outputs.uid, filters.uid};
      break;
  }
  return result;
}

}  // namespace plumb::cuda
