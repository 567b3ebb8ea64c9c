#pragma once

#include "trainer/cuda/dnn/convolution_key.hpp"
#include "trainer/cuda/dnn/dnn_graph.hpp"

namespace plumb::cuda {

/// Returns a pass of a convolution in cuDNN's operations, all in bf16 with sums in float. What lies in memory, in this
/// order: forward: images, filters, outputs; input gradient: gradient of outputs, filters, gradient of images; weight
/// gradient: images, gradient of outputs, gradient of filters.
DnnOperations convolution_graph(const ConvolutionKey& key);

}  // namespace plumb::cuda
