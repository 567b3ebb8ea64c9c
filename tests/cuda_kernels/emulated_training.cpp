#include "tests/support/device_training.hpp"

#include <stdexcept>

#include "tests/cuda_kernels/cpu_products.hpp"
#include "tests/support/happens_before.hpp"
#include "tests/support/immediate_streams.hpp"
#include "tests/support/recorded_streams.hpp"
#include "trainer/backends/cpu_backend.hpp"
#include "trainer/cuda/layers/device_stage.hpp"
#include "trainer/stages/backend.hpp"

namespace plumb {

namespace {

std::unique_ptr<StageBackend> make_emulated_stage(NumberType type, const StageSpec& spec) {
  return kernels::make_device_stage(type, spec, std::make_unique<kernels::CpuProducts>());
}

constexpr Backend kEmulated{.name = "emulated",
                            .summary = "CUDA's kernels on the CPU",
                            .make_stage = make_emulated_stage,
                            .add = add_on_cpu,
                            .scale = scale_on_cpu,
                            .scratch_bytes = kernels::device_scratch_bytes,
                            .only_streams = true,
                            .bfloat16 = true,
                            .frozen = true};

}  // namespace

/// For streams whose work is done at once. Throws std::logic_error with the first race that the log of its calls
/// shows.
TrainResult device_training(TrainOptions options) {
  RecordedStreams machine(immediate_streams(add_on_cpu));
  options.hooks.own_backend = &kEmulated;
  options.execution.executor = "streams";
  options.hooks.own_streams = &machine;
  TrainResult result = train(options);
  for (const std::string& race : find_races(machine.log())) throw std::logic_error(race);
  return result;
}

}  // namespace plumb
