// Convolutions by cuDNN beside our kernels and the CPU's layers: a suite of its own, as that of attention is.
#include <doctest/doctest.h>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "models/ground/error.hpp"
#include "tests/cuda_kernels/device_buffer.hpp"
#include "tests/cuda_kernels/layer_case.hpp"
#include "trainer/cuda/dnn/convolution_key.hpp"
#include "trainer/cuda/dnn_check.hpp"
#include "trainer/cuda/dnn_convolution.hpp"
#include "trainer/cuda/layers/image_sizes.hpp"

TEST_SUITE_BEGIN("cudnn convolutions");

namespace plumb::cuda {
namespace {

/// cuDNN on this machine, or null, with the reason on the terminal.
std::unique_ptr<DnnConvolution> start_dnn(std::shared_ptr<DnnTable>& table) {
  try {
    table = std::make_shared<DnnTable>("convolutions", dnn_table_head("this GPU"));
    return std::make_unique<DnnConvolution>(table, false);
  } catch (const Error& error) {
    std::cout << "no convolutions by cuDNN: " << error.what() << "\n";
    return nullptr;
  }
}

/// Sides of filters and what lies between them.
struct Filter {
  std::int64_t kernel;
  std::int64_t stride;
  std::int64_t padding;
};

LayerSpec layer(std::int64_t side, std::int64_t channels, std::int64_t filters, const Filter& of) {
  return {.kind = LayerKind::kConvolution,
          .name = "convolution",
          .height = side,
          .columns = side,
          .channels = channels,
          .filters = filters,
          .kernel = of.kernel,
          .stride = of.stride,
          .padding = of.padding,
          .bias = false};
}

void check_layer(const LayerSpec& spec, std::int64_t images) {
  std::shared_ptr<DnnTable> table;
  const auto dnn = start_dnn(table);
  if (dnn == nullptr) return;
  const kernels::DeviceBytes workspace(
      static_cast<std::size_t>(convolution_workspace_bytes(kernels::convolution_shape(spec, images))));
  const auto units =
      dnn->units({.workspace = workspace.begin(), .workspace_bytes = static_cast<std::int64_t>(workspace.size())});
  kernels::LayerCase of{.spec = spec, .shape = {images, 1}};
  const kernels::LayerResults expected = kernels::run_on_cpu(of);
  of.convolutions = units.get();
  const kernels::LayerResults first = kernels::run_on_device<kernels::BFloat16>(of);
  CHECK(table->summary().find(" for 3 of 3 kinds") != std::string::npos);
  CAPTURE(table->summary());
  for (const auto& of_cpu : expected) {
    CAPTURE(of_cpu.first);
    const std::vector<double>& results = first.at(of_cpu.first);
    const std::vector<float> ours(results.begin(), results.end());
    const std::vector<float> theirs(of_cpu.second.begin(), of_cpu.second.end());
    CHECK(relative_difference(ours, theirs) < 1.5e-2);
  }
  for (int i = 0; i < 8; ++i) CHECK((kernels::run_on_device<kernels::BFloat16>(of) == first));
  CHECK(workspace.intact());
}

}  // namespace

TEST_CASE("convolutions by cuDNN equal the CPU's and have the same bits every time") {
  check_layer(layer(28, 64, 64, {3, 1, 1}), 4);
  check_layer(layer(28, 128, 128, {3, 2, 1}), 2);
  check_layer(layer(14, 256, 512, {1, 2, 0}), 4);
  check_layer(layer(7, 256, 256, {3, 1, 1}), 4);
  check_layer(layer(56, 3, 64, {7, 2, 3}), 2);
  check_layer(layer(32, 3, 16, {3, 1, 1}), 4);
  check_layer(layer(9, 24, 40, {3, 1, 1}), 3);
}

}  // namespace plumb::cuda

TEST_SUITE_END();
