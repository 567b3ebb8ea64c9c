#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>
#include <vector>

#include "models/stages/lay_out_stage.hpp"
#include "schedules/catalogue/registry.hpp"
#include "tools/bench/processor_time.hpp"
#include "trainer/data/value_data.hpp"
#include "trainer/numbers/initial_weights.hpp"
#include "trainer/stages/stage_module.hpp"
#include "trainer/train.hpp"

namespace plumb::bench {
namespace {

constexpr std::int64_t kRows = 64;
constexpr std::int64_t kLayers = 8;
constexpr std::int64_t kMicrobatches = 8;
constexpr std::int64_t kUpdates = 6;

/// Eight square linear layers; microbatches of 64 rows.
Network layers_of(std::int64_t width) {
  Network network{.name = "linear layers", .source = "", .sequence = 1, .samples = kRows, .layers = {}};
  network.layers.push_back({.kind = LayerKind::kValues, .name = "values", .width = width});
  for (std::int64_t i = 0; i < kLayers; ++i) {
    network.layers.push_back(
        {.kind = LayerKind::kLinear, .name = "linear" + std::to_string(i), .width = width, .outputs = width});
  }
  network.layers.push_back({.kind = LayerKind::kSquaredError, .name = "error", .width = width});
  return network;
}

/// Trains it with 1F1B, a microbatch of 64 rows at a time; the layers spread evenly over `stages`.
TrainOptions options_of(std::int64_t width, std::int32_t stages, const TrainingData& data) {
  TrainOptions options;
  options.model.network = layers_of(width);
  for (std::int32_t stage = 0; stage < stages; ++stage) {
    options.model.partition.bounds.push_back(stage == 0 ? 0 : 1 + static_cast<std::size_t>(stage * kLayers / stages));
  }
  options.model.partition.bounds.push_back(options.model.network.layers.size());
  options.schedule = generate("1f1b", {.num_devices = stages, .num_microbatches = kMicrobatches});
  options.model.shape = {.samples = kRows, .sequence = 1};
  options.data = &data;
  options.execution.executor = "serial";
  options.optimization.steps = kUpdates;
  return options;
}

ValueData rows_of(std::int64_t width) {
  std::vector<double> values(static_cast<std::size_t>(kRows * width));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i % 17) / 17;
  return {values, width, values, width};
}

/// Training without a pipeline as one would write it down: F and B of one microbatch after the other, then the update.
class PlainTraining {
 public:
  explicit PlainTraining(const TrainOptions& options)
      : options_(options),
        layout_(stage_layout(options.model.network.layers, {0, options.model.network.layers.size()},
                             options.model.shape, precision_of<float>(options.optimization.optimizer))),
        module_(layout_, options.model.shape),
        weights_(static_cast<std::size_t>(layout_.memory.weight_bytes) / sizeof(float)),
        gradients_(weights_.size()),
        state_(static_cast<std::size_t>(layout_.memory.optimizer_bytes) / sizeof(float)) {
    fill_parameters(std::span<const ParameterFacts>(layout_.parameters), options.model.seed, weights_.data());
  }

  void update() {
    for (std::int64_t k = 0; k < kMicrobatches; ++k) pass(updates_ * kMicrobatches + k);
    const UpdateStep step{updates_, learning_rate(options_.optimization.learning_rate, updates_), 1.0 / kMicrobatches};
    plumb::update<float>(options_.optimization.optimizer, step, layout_.parameters,
                         {weights_.data(), gradients_.data(), state_.data()});
    std::ranges::fill(gradients_, 0.0F);
    ++updates_;
  }

  /// Mean time of a layer's forward.
  double seconds_per_forward() const { return forwards_s_ / static_cast<double>(updates_ * kMicrobatches * kLayers); }

 private:
  void pass(std::int64_t microbatch) {
    const Microbatch data = options_.data->microbatch(microbatch, options_.model.shape, options_.model.seed);
    StageStash stash(layout_, arena_);
    const StageBlocks forward = stash.begin_forward(Block());
    const double start = processor_s();
    module_.forward(weights_.data(), forward, ids_of(data, kRows), &loss_);
    forwards_s_ += processor_s() - start;
    benchmark::DoNotOptimize(stash.end_forward());
    module_.backward(weights_.data(), gradients_.data(), stash.begin_backward(Block()));
    benchmark::DoNotOptimize(stash.end_backward());
  }

  const TrainOptions& options_;
  StageLayout layout_;
  StageModule<float> module_;
  Arena arena_;
  std::vector<float> weights_;
  std::vector<float> gradients_;
  std::vector<float> state_;
  std::int64_t updates_ = 0;
  double loss_ = 0;
  double forwards_s_ = 0;
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// Appends the times of all updates but the first.
void add_steps(const std::vector<double>& ends, std::vector<double>& steps) {
  for (std::size_t i = 1; i < ends.size(); ++i) steps.push_back(ends[i] - ends[i - 1]);
}

/// What the serial executor adds to plain training of the same network with the same updates; both by turns, in one
/// run.
void serial_executor(benchmark::State& state) {
  const std::int64_t width = state.range(0);
  const ValueData data = rows_of(width);
  TrainOptions options = options_of(width, static_cast<std::int32_t>(state.range(1)), data);
  std::vector<double> plain;
  std::vector<double> serial;
  double forward_s = 0;
  for (auto _ : state) {
    PlainTraining training(options);
    std::vector<double> ends;
    for (std::int64_t i = 0; i < kUpdates; ++i) {
      training.update();
      ends.push_back(processor_s());
    }
    add_steps(ends, plain);
    forward_s = training.seconds_per_forward();
    ends.clear();
    options.observation.on_update = [&](std::int64_t, double) { ends.push_back(processor_s()); };
    benchmark::DoNotOptimize(train(options));
    add_steps(ends, serial);
  }
  state.counters["us/layer forward"] = 1e6 * forward_s;
  state.counters["ms/update plain"] = 1e3 * median(plain);
  state.counters["ms/update serial"] = 1e3 * median(serial);
  state.counters["overhead"] = median(serial) / median(plain) - 1;
}
BENCHMARK(serial_executor)
    ->ArgNames({"width", "stages"})
    ->ArgsProduct({{256, 512}, {1, 4, 8}})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(3);

}  // namespace
}  // namespace plumb::bench
