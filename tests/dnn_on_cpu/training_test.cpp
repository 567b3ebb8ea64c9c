#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "models/import/load_network.hpp"
#include "models/network/network_io.hpp"
#include "tests/cuda_kernels/cpu_products.hpp"
#include "tests/cuda_kernels/device_buffer.hpp"
#include "tests/support/happens_before.hpp"
#include "tests/support/immediate_streams.hpp"
#include "tests/support/recorded_streams.hpp"
#include "tests/trainer/training_cases.hpp"
#include "trainer/backends/cpu_backend.hpp"
#include "trainer/cuda/dnn/attention_key.hpp"
#include "trainer/cuda/dnn/convolution_key.hpp"
#include "trainer/cuda/dnn_attention.hpp"
#include "trainer/cuda/dnn_convolution.hpp"
#include "trainer/cuda/layers/device_stage.hpp"
#include "trainer/data/shape_images.hpp"
#include "trainer/stages/backend.hpp"

TEST_SUITE_BEGIN("dnn");

namespace plumb::cuda {
namespace {

/// Of the run that goes on.
struct OfRun {
  // Null: our kernels.
  std::unique_ptr<DnnAttention> attention;
  std::unique_ptr<DnnConvolution> convolutions;
  std::deque<kernels::DeviceBytes> workspaces;
};
OfRun& of_run() {
  static OfRun run;
  return run;
}

std::unique_ptr<StageBackend> make_stage(NumberType type, const StageSpec& spec) {
  std::int64_t most = 256;
  for (const kernels::AttentionShape& shape : kernels::attention_shapes(spec)) {
    most = std::max(most, attention_workspace_bytes(shape));
  }
  for (const kernels::ConvolutionShape& shape : kernels::convolution_shapes(spec)) {
    most = std::max(most, convolution_workspace_bytes(shape));
  }
  const auto& workspace = of_run().workspaces.emplace_back(static_cast<std::size_t>(most));
  const DnnPlace place{.sms = 8, .workspace = workspace.begin(), .workspace_bytes = most};
  kernels::OtherUnits others;
  if (of_run().attention != nullptr) others.attention = of_run().attention->units(place);
  if (of_run().convolutions != nullptr) others.convolutions = of_run().convolutions->units(place);
  return kernels::make_device_stage(type, spec, std::make_unique<kernels::CpuProducts>(), std::move(others));
}

constexpr Backend kWithCudnn{
    .name = "emulated",
    .summary = "CUDA's kernels on the CPU, with attention and convolutions by a stand-in for cuDNN",
    .make_stage = make_stage,
    .add = add_on_cpu,
    .scale = scale_on_cpu,
    .scratch_bytes = kernels::device_scratch_bytes,
    .only_streams = true,
    .bfloat16 = true};

/// Windows of three pixels and of one that skips pixels, images of 12 x 12.
constexpr std::string_view kOfImages = R"({"format": "plumbline-network", "version": 1, "name": "images",
  "source": "for a test", "sequence": 1, "samples": 2, "classes": 10, "layers": [
    {"kind": "pixels", "height": 12, "columns": 12, "channels": 3},
    {"kind": "convolution", "filters": 8, "kernel": 3, "bias": false}, {"kind": "batch_norm"}, {"kind": "relu"},
    {"kind": "convolution", "filters": 16, "kernel": 1, "stride": 2, "bias": false}, {"kind": "batch_norm"},
    {"kind": "relu"}, {"kind": "convolution", "filters": 16, "kernel": 3, "bias": false}, {"kind": "batch_norm"},
    {"kind": "relu"}, {"kind": "average_pool"}, {"kind": "classifier"}]})";

const TrainingData& images() {
  static const ImageData data = shape_images({.training = 32, .held_out = 8});
  return data;
}

/// Three updates of a network; what tables are there for is computed by cuDNN.
struct Computed {
  bool of_images = false;
  std::shared_ptr<DnnTable> attention;
  std::shared_ptr<DnnTable> convolutions;
};

TrainResult trained(const std::string& schedule, std::int32_t devices, const Computed& by) {
  if (by.attention != nullptr) of_run().attention = std::make_unique<DnnAttention>(by.attention, false);
  if (by.convolutions != nullptr) of_run().convolutions = std::make_unique<DnnConvolution>(by.convolutions, false);
  TrainOptions options = tiny_run(schedule, {.num_devices = devices, .num_microbatches = 2, .updates = 1});
  options.model.network = by.of_images ? network_from_json(kOfImages, "images") : load_network("gpt-tiny");
  if (by.of_images) options.data = &images();
  options.model.partition = equal_partition(options.model.network, options.schedule.num_stages);
  options.model.shape = by.of_images ? MicrobatchShape{2, 1} : MicrobatchShape{1, 9};
  options.model.numbers = NumberType::kBFloat16;
  options.optimization.steps = 3;
  RecordedStreams machine(immediate_streams(add_on_cpu));
  options.hooks.own_backend = &kWithCudnn;
  options.hooks.own_streams = &machine;
  options.execution.executor = "streams";
  TrainResult result = train(options);
  CHECK(find_races(machine.log()).empty());
  for (const auto& workspace : of_run().workspaces) CHECK(workspace.intact());
  of_run() = {};
  return result;
}

/// With our kernels, and by cuDNN on one device and on two.
void check_network(const Computed& by, const std::shared_ptr<DnnTable>& table, const std::string& summary,
                   double most_apart) {
  const TrainResult ours =
      trained("1f1b", 2, {.of_images = by.of_images, .attention = nullptr, .convolutions = nullptr});
  const TrainResult two = trained("1f1b", 2, by);
  CHECK(table->summary() == summary);
  const TrainResult one = trained("1f1b", 1, by);
  const TrainResult split = trained("zb-h1", 2, by);
  REQUIRE(two.losses.size() == ours.losses.size());
  for (std::size_t i = 0; i < ours.losses.size(); ++i) {
    CHECK(std::abs(two.losses[i] - ours.losses[i]) <= most_apart * ours.losses[i]);
  }
  CHECK(two.losses != ours.losses);  // somebody else has computed them
  CHECK((one.parameters == two.parameters));
  CHECK((split.parameters == two.parameters));
}

}  // namespace

TEST_CASE("a network trains with attention by cuDNN as with our kernels, alike on one device and on two") {
  const auto table = std::make_shared<DnnTable>("attention", dnn_table_head("the host"));
  check_network({.of_images = false, .attention = table, .convolutions = nullptr}, table,
                "attention: cuDNN 9.19.0 for 2 of 2 kinds", 2e-3);
}

TEST_CASE("a network trains with convolutions by cuDNN as with our kernels, alike on one device and on two") {
  const auto table = std::make_shared<DnnTable>("convolutions", dnn_table_head("the host"));
  check_network({.of_images = true, .attention = nullptr, .convolutions = table}, table,
                "convolutions: cuDNN 9.19.0 for 8 of 8 kinds", 2e-2);
}

}  // namespace plumb::cuda

TEST_SUITE_END();
