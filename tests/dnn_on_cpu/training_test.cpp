#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <string>

#include "models/import/load_network.hpp"
#include "tests/cuda_kernels/cpu_products.hpp"
#include "tests/cuda_kernels/device_buffer.hpp"
#include "tests/support/happens_before.hpp"
#include "tests/support/immediate_streams.hpp"
#include "tests/support/recorded_streams.hpp"
#include "tests/trainer/training_cases.hpp"
#include "trainer/backends/cpu_backend.hpp"
#include "trainer/cuda/dnn/attention_key.hpp"
#include "trainer/cuda/dnn_attention.hpp"
#include "trainer/cuda/layers/device_stage.hpp"
#include "trainer/stages/backend.hpp"

TEST_SUITE_BEGIN("dnn");

namespace plumb::cuda {
namespace {

/// Of the run that goes on.
struct OfRun {
  std::unique_ptr<DnnAttention> attention;  ///< null: our kernels
  std::deque<kernels::DeviceBytes> workspaces;
};
OfRun& of_run() {
  static OfRun run;
  return run;
}

std::unique_ptr<StageBackend> make_stage(NumberType type, const StageSpec& spec) {
  std::unique_ptr<kernels::AttentionUnits> units;
  if (of_run().attention != nullptr) {
    std::int64_t most = 0;
    for (const kernels::AttentionShape& shape : kernels::attention_shapes(spec)) {
      most = std::max(most, attention_workspace_bytes(shape));
    }
    const auto& workspace = of_run().workspaces.emplace_back(static_cast<std::size_t>(most));
    units = of_run().attention->units({.sms = 8, .workspace = workspace.begin(), .workspace_bytes = most});
  }
  return kernels::make_device_stage(type, spec, std::make_unique<kernels::CpuProducts>(), std::move(units));
}

constexpr Backend kWithCudnn{.name = "emulated",
                             .summary = "CUDA's kernels on the CPU, with attention by a stand-in for cuDNN",
                             .make_stage = make_stage,
                             .add = add_on_cpu,
                             .scale = scale_on_cpu,
                             .scratch_bytes = kernels::device_scratch_bytes,
                             .only_streams = true,
                             .bfloat16 = true};

/// Three updates of GPT; its attention by `table`, or by our kernels.
TrainResult trained(const std::string& schedule, std::int32_t devices, const std::shared_ptr<AttentionTable>& table) {
  of_run().attention = table == nullptr ? nullptr : std::make_unique<DnnAttention>(table, false);
  TrainOptions options = tiny_run(schedule, {.num_devices = devices, .num_microbatches = 2, .updates = 1});
  options.model.network = load_network("gpt-tiny");
  options.model.partition = equal_partition(options.model.network, options.schedule.num_stages);
  options.model.shape = {1, 9};
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

}  // namespace

TEST_CASE("a network trains with attention by cuDNN as with our kernels, alike on one device and on two") {
  const auto table = std::make_shared<AttentionTable>(attention_table_head("the host"));
  const TrainResult ours = trained("1f1b", 2, nullptr);
  const TrainResult two = trained("1f1b", 2, table);
  CHECK(table->summary() == "attention: cuDNN 9.19.0 for 2 of 2 kinds");
  const TrainResult one = trained("1f1b", 1, table);
  const TrainResult split = trained("zb-h1", 2, table);
  REQUIRE(two.losses.size() == ours.losses.size());
  for (std::size_t i = 0; i < ours.losses.size(); ++i) {
    CHECK(std::abs(two.losses[i] - ours.losses[i]) <= 2e-3 * ours.losses[i]);
  }
  CHECK(two.losses != ours.losses);  // somebody else has computed them
  CHECK((one.parameters == two.parameters));
  CHECK((split.parameters == two.parameters));
}

}  // namespace plumb::cuda

TEST_SUITE_END();
