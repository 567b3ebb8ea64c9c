#include <memory>
#include <string>
#include <vector>

#include "models/ground/json_reader.hpp"
#include "tests/fuzz/promise.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/trainer/training_cases.hpp"
#include "trainer/checkpoint/checkpoint_cut.hpp"
#include "trainer/checkpoint/safetensors.hpp"
#include "trainer/checkpoint/snapshot.hpp"

namespace {

/// A run of two stages that stops after its first update, with messages and stashes under way.
plumb::TrainOptions small_run() {
  plumb::TrainOptions options = plumb::tiny_run("pipedream", {.num_devices = 2, .num_microbatches = 2, .updates = 2});
  options.observation.keep_parameters = false;
  return options;
}

/// The tensors of that run, as a file.
std::unique_ptr<plumb::SafetensorsFile> tensors_of(const plumb::TrainOptions& options) {
  plumb::TrainingRun run(options);
  run.connect();
  run.run_to(plumb::checkpoint_cut(run.plan().program, 1));
  const plumb::testing::ScratchDirectory scratch;
  plumb::write_safetensors(scratch.path() / "tensors.safetensors", plumb::take_snapshot(run).tensors);
  return std::make_unique<plumb::SafetensorsFile>(scratch.path() / "tensors.safetensors");
}

}  // namespace

/// Any text is the state of a checkpoint that can be saved again after it was restored, or is refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  static const TrainOptions options = small_run();
  static const std::unique_ptr<SafetensorsFile> tensors = tensors_of(options);
  const auto read = [&] {
    const JsonDocument state(std::string(testing::text_of(data, size)), "state.json");
    auto run = std::make_unique<TrainingRun>(options);
    restore_snapshot(*run, state.root(), *tensors);
    return run;
  };
  return testing::read_or_refuse(read, [](const std::unique_ptr<TrainingRun>& run) {
    testing::promise(!take_snapshot(*run).state.empty(), "a state");
  });
}
