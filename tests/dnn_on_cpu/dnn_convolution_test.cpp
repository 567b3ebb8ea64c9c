#include "trainer/cuda/dnn_convolution.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "tests/cuda_kernels/device_buffer.hpp"
#include "tests/cuda_kernels/layer_case.hpp"
#include "trainer/cuda/dnn/convolution_key.hpp"
#include "trainer/cuda/dnn_check.hpp"
#include "trainer/cuda/layers/image_sizes.hpp"

TEST_SUITE_BEGIN("dnn");

namespace plumb::cuda {
namespace {

using kernels::LayerResults;

LayerSpec convolution(std::int64_t channels, std::int64_t filters, std::int64_t kernel, std::int64_t stride) {
  return {.kind = LayerKind::kConvolution,
          .name = "convolution",
          .height = 6,
          .columns = 5,
          .channels = channels,
          .filters = filters,
          .kernel = kernel,
          .stride = stride,
          .padding = kernel / 2,
          .bias = false};
}

/// F, I and W of a layer with a stand-in for cuDNN, twice over, and what the table says then.
struct LayerOutcome {
  std::vector<LayerResults> results;
  std::string summary;
  std::string table;
};

LayerOutcome run_layer(const LayerSpec& spec, const char* fault, bool timed = false, bool misaligned = false) {
  setenv("PLUMB_FAKE_CUDNN", fault, 1);  // NOLINT(concurrency-mt-unsafe): one thread
  const auto table = std::make_shared<DnnTable>("convolutions", dnn_table_head("the host"));
  DnnConvolution convolutions(table, timed);
  const kernels::DeviceBytes workspace(
      static_cast<std::size_t>(convolution_workspace_bytes(kernels::convolution_shape(spec, 3))));
  const auto units = convolutions.units(
      {.sms = 8, .workspace = workspace.begin(), .workspace_bytes = static_cast<std::int64_t>(workspace.size())});
  LayerOutcome outcome;
  const kernels::LayerCase of{.spec = spec, .shape = {3, 1}, .misaligned = misaligned, .convolutions = units.get()};
  for (int i = 0; i < 2; ++i) outcome.results.push_back(kernels::run_on_device<kernels::BFloat16>(of));
  outcome.summary = table->summary();
  outcome.table = table->text();
  CHECK(workspace.intact());
  unsetenv("PLUMB_FAKE_CUDNN");  // NOLINT(concurrency-mt-unsafe): likewise
  return outcome;
}

/// Results of both runs beside the CPU's in double.
void check_against_cpu(const LayerOutcome& outcome, const LayerSpec& spec) {
  const LayerResults expected = kernels::run_on_cpu({.spec = spec, .shape = {3, 1}});
  for (const LayerResults& results : outcome.results) {
    for (const auto& [name, values] : expected) {
      CAPTURE(name);
      const auto found = results.find(name);
      REQUIRE(found != results.end());
      const std::vector<float> ours(found->second.begin(), found->second.end());
      const std::vector<float> theirs(values.begin(), values.end());
      CHECK(relative_difference(ours, theirs) < 1.5e-2);
    }
  }
}

}  // namespace

TEST_CASE("cuDNN answers all passes of a convolution where its results are ours") {
  for (const LayerSpec& spec : {convolution(8, 6, 3, 2), convolution(3, 8, 3, 1), convolution(8, 8, 1, 2)}) {
    const LayerOutcome outcome = run_layer(spec, "");
    CHECK(outcome.summary == "convolutions: cuDNN 9.19.0 for 3 of 3 kinds");
    check_against_cpu(outcome, spec);
    CHECK((outcome.results[0] == outcome.results[1]));
  }
  CHECK(run_layer(convolution(8, 6, 3, 2), "").table ==
        "plumbline convolutions, cuDNN 9.19.0, the host\n"
        "cudnn forward n3 6x5 c8 f6 k3x3 s2 p1 sms8\n"
        "cudnn input n3 6x5 c8 f6 k3x3 s2 p1 sms8\n"
        "cudnn weight n3 6x5 c8 f6 k3x3 s2 p1 sms8\n");
}

TEST_CASE("our kernels answer for convolutions that cuDNN gets wrong, refuses, adds in no fixed order, or is slow at") {
  const LayerSpec spec = convolution(8, 6, 3, 1);
  const auto own = [&](const char* fault, bool timed, const std::string& why) {
    CAPTURE(fault);
    const LayerOutcome outcome = run_layer(spec, fault, timed);
    CAPTURE(outcome.summary);
    check_against_cpu(outcome, spec);
    CHECK(outcome.summary.ends_with(why));
  };
  own("wrong", false,
      "(the gradient of filters by cuDNN differs by 0.5 from our kernels; the gradient of images by cuDNN differs by "
      "0.5 from our kernels; the output by cuDNN differs by 0.5 from our kernels)");
  own("none", false, "own kernels for 3 (cuDNN 9.19.0 has no plan: it proposes nothing)");
  own("nondeterministic", false, "(cuDNN 9.19.0 has no plan: it adds in no fixed order)");
  own("", true, "own kernels for 3 (they are faster)");
}

TEST_CASE("cuDNN is not asked for windows of one pixel, biases and memory at no multiple of 16 bytes") {
  CHECK(run_layer(convolution(8, 6, 1, 1), "").summary == "convolutions: none in bf16");
  LayerSpec spec = convolution(8, 6, 3, 1);
  spec.bias = true;
  CHECK(run_layer(spec, "").summary == "convolutions: none in bf16");
  spec.bias = false;
  const LayerOutcome misaligned = run_layer(spec, "", false, true);
  check_against_cpu(misaligned, spec);
  CHECK(misaligned.summary.ends_with("own kernels for 3 (memory at no multiple of 16 bytes)"));
}

}  // namespace plumb::cuda

TEST_SUITE_END();
