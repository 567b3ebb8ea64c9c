#include <doctest/doctest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "models/ground/error.hpp"
#include "tests/dnn/described_gpus.hpp"
#include "tests/dnn/graph_on_cpu.hpp"
#include "tests/dnn/number_lists.hpp"
#include "trainer/cuda/dnn/convolution_graphs.hpp"
#include "trainer/cuda/dnn/dnn_plan.hpp"

TEST_SUITE_BEGIN("dnn");

namespace plumb::cuda {
namespace {

using kernels::ConvolutionPass;
using kernels::ConvolutionShape;

constexpr ConvolutionPass kPasses[] = {ConvolutionPass::kForward, ConvolutionPass::kInputGrad,
                                       ConvolutionPass::kWeightGrad};

/// A square window over square images.
ConvolutionShape shape_of(std::int64_t images, std::int64_t side, std::int64_t channels, std::int64_t filters,
                          const std::array<std::int64_t, 3>& kernel_stride_padding) {
  const auto [kernel, stride, padding] = kernel_stride_padding;
  const std::int64_t out = (side + 2 * padding - kernel) / stride + 1;
  return {.window = {.images = images,
                     .height = side,
                     .columns = side,
                     .channels = channels,
                     .out_height = out,
                     .out_columns = out,
                     .kernel_height = kernel,
                     .kernel_columns = kernel,
                     .stride = stride,
                     .padding = padding},
          .filters = filters};
}

/// The convolutions of ResNet-50 at 224 x 224 that are asked for, and the first one of CIFAR.
const std::vector<ConvolutionShape> kShapes{
    shape_of(32, 224, 3, 64, {7, 2, 3}),     shape_of(32, 56, 64, 64, {3, 1, 1}),
    shape_of(32, 56, 128, 128, {3, 2, 1}),   shape_of(32, 28, 128, 128, {3, 1, 1}),
    shape_of(32, 56, 256, 512, {1, 2, 0}),   shape_of(32, 28, 256, 256, {3, 2, 1}),
    shape_of(32, 14, 256, 256, {3, 1, 1}),   shape_of(32, 28, 512, 1024, {1, 2, 0}),
    shape_of(32, 14, 512, 512, {3, 2, 1}),   shape_of(32, 7, 512, 512, {3, 1, 1}),
    shape_of(32, 14, 1024, 2048, {1, 2, 0}), shape_of(128, 32, 3, 64, {3, 1, 1})};

/// A convolution as our layers have it: rows of patches, which lie as the pixels of a window do.
struct Patches {
  const ConvolutionShape& shape;

  /// visit(place in the outputs, in the images, in the filters) of every product.
  template <class Visit>
  void each(Visit visit) const {
    const kernels::ImageWindow& of = shape.window;
    for (std::int64_t row = 0; row < of.out_pixels(); ++row) {
      const std::int64_t line = row / of.out_columns % of.out_height * of.stride - of.padding;
      const std::int64_t column = row % of.out_columns * of.stride - of.padding;
      const std::int64_t image = row / of.out_columns / of.out_height;
      for (std::int64_t at = 0; at < of.places() * of.channels; ++at) {
        const std::int64_t y = line + at / of.channels / of.kernel_columns;
        const std::int64_t x = column + at / of.channels % of.kernel_columns;
        if (y < 0 || y >= of.height || x < 0 || x >= of.columns) continue;
        const std::int64_t pixel = ((image * of.height + y) * of.columns + x) * of.channels + at % of.channels;
        for (std::int64_t filter = 0; filter < shape.filters; ++filter) {
          visit(static_cast<std::size_t>(row * shape.filters + filter), static_cast<std::size_t>(pixel),
                static_cast<std::size_t>(filter * of.places() * of.channels + at));
        }
      }
    }
  }
};

void check_shape(const ConvolutionShape& shape) {
  CAPTURE(text_of(key_of(ConvolutionPass::kForward, shape, 0)));
  const Values images = numbers(shape.image_numbers(), 1);
  const Values filters = numbers(shape.filter_numbers(), 2);
  const Values grads = numbers(shape.output_numbers(), 3);
  Values outputs(grads.size());
  Values image_grads(images.size());
  Values filter_grads(filters.size());
  Patches{shape}.each([&](std::size_t out, std::size_t pixel, std::size_t number) {
    outputs[out] += images[pixel] * filters[number];
    image_grads[pixel] += grads[out] * filters[number];
    filter_grads[number] += grads[out] * images[pixel];
  });
  const auto check = [&](ConvolutionPass pass, Values x, Values y, const Values& expected) {
    const DnnOperations of = convolution_graph(key_of(pass, shape, 0));
    Values to(expected.size(), 99);
    run_on_cpu(of.graph, {{of.memory[0], x.data()}, {of.memory[1], y.data()}, {of.memory[2], to.data()}});
    CHECK(apart(to, expected) < 4e-3);
  };
  check(ConvolutionPass::kForward, images, filters, outputs);
  check(ConvolutionPass::kInputGrad, grads, filters, image_grads);
  check(ConvolutionPass::kWeightGrad, images, grads, filter_grads);
}

}  // namespace

TEST_CASE("the graphs that cuDNN is given compute convolutions and their gradients") {
  check_shape(shape_of(2, 7, 3, 5, {3, 1, 1}));
  check_shape(shape_of(2, 9, 8, 8, {3, 2, 1}));
  check_shape(shape_of(1, 11, 2, 4, {7, 2, 3}));
  check_shape(shape_of(3, 8, 4, 6, {1, 2, 0}));
  ConvolutionShape wide = shape_of(1, 6, 2, 3, {3, 1, 0});
  wide.window.columns = 9;
  wide.window.out_columns = 7;
  check_shape(wide);
}

TEST_CASE("cuDNN has a deterministic plan for every convolution of ResNet-50, in the workspace that is foreseen") {
  for (const std::string_view gpu : {kDescribedH200, kDescribedA100}) {
    const DnnDescriptor properties = device_properties(gpu);
    for (const ConvolutionShape& shape : kShapes) {
      for (const ConvolutionPass pass : kPasses) {
        const ConvolutionKey key = key_of(pass, shape, 8);
        CAPTURE(text_of(key));
        CHECK(not_asked_because(key).empty());
        const std::int64_t bytes = convolution_workspace_bytes(shape) - filter_grad_bytes(shape);
        const DnnPlan plan({.properties = &properties}, convolution_graph(key), {.workspace_bytes = bytes});
        MESSAGE(text_of(key) << ": engine " << plan.engine() << ", " << plan.workspace_bytes() << " of " << bytes
                             << " bytes");
        CHECK(plan.workspace_bytes() <= bytes);
      }
    }
  }
}

TEST_CASE("a convolution beyond 32 bits is not asked for, and one without room says so") {
  CHECK(not_asked_because(key_of(ConvolutionPass::kForward, shape_of(1 << 16, 224, 3, 64, {7, 2, 3}), 0)) ==
        "images of 52613349376 numbers");
  const DnnDescriptor gpu = device_properties(kDescribedH200);
  std::string why;
  try {
    const DnnPlan plan({.properties = &gpu}, convolution_graph(key_of(ConvolutionPass::kForward, kShapes.front(), 0)),
                       {});
  } catch (const Error& error) {
    why = error.what();
  }
  MESSAGE(why);
  CHECK((why.empty() || why.find(" bytes of workspace, there are 0") != std::string::npos));
}

}  // namespace plumb::cuda

TEST_SUITE_END();
