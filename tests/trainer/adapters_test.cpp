#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/jobs/job_memory.hpp"
#include "models/network/lora.hpp"
#include "models/stages/lay_out_stage.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/reference_training.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/trainer/predicted_run.hpp"
#include "tests/trainer/training_cases.hpp"
#include "trainer/backends/backends.hpp"
#include "trainer/checkpoint/checkpoint.hpp"
#include "trainer/checkpoint/safetensors.hpp"
#include "trainer/train.hpp"
#include "trainer/weights/weights_file.hpp"

TEST_SUITE_BEGIN("trainer");

using plumb::testing::error_message;

namespace plumb {
namespace {

constexpr Lora kAllProducts{.rank = 2, .alpha = 3, .targets = LoraTargets::kAll};
constexpr Lora kOnlyQkv{.rank = 3, .alpha = 6, .targets = LoraTargets::kQkv};

/// `run` with adapters instead of all weights.
TrainOptions adapted(TrainOptions run, const Lora& lora) {
  run.model.network = with_adapters(std::move(run.model.network), lora);
  return run;
}

/// `jobs` jobs of `each` microbatches per update over p devices, for three updates.
TrainOptions jobs_run(std::int32_t p, std::int64_t jobs, std::int64_t each, const Lora& lora) {
  const ScheduleParams params{
      .num_devices = p, .num_microbatches = jobs * each, .updates = 3, .options = {{"adapters", std::to_string(jobs)}}};
  TrainOptions run = adapted(tiny_run("mlora", params, 3, true), lora);
  run.optimization.steps = 3;
  return run;
}

/// What one of several jobs sees: `each` of the `per_update` microbatches of an update, from `first` on.
class DataOfJob final : public TrainingData {
 public:
  DataOfJob(const TrainingData& all, std::int64_t per_update, std::int64_t each, std::int64_t first)
      : all_(all), per_update_(per_update), each_(each), first_(first) {}
  DataFacts facts() const override { return all_.facts(); }
  Microbatch microbatch(std::int64_t k, const MicrobatchShape& shape, std::uint64_t seed) const override {
    return all_.microbatch(k / each_ * per_update_ + first_ + k % each_, shape, seed);
  }
  std::int64_t held_out_samples(std::int64_t sequence) const override { return all_.held_out_samples(sequence); }
  Microbatch held_out(std::int64_t first, const MicrobatchShape& shape) const override {
    return all_.held_out(first, shape);
  }

 private:
  const TrainingData& all_;
  std::int64_t per_update_;
  std::int64_t each_;
  std::int64_t first_;
};

/// One of the jobs of `jobs_run` alone: a plain loop over its microbatches on one device.
TrainResult alone(TrainOptions run, const DataOfJob& data, std::int64_t each) {
  run.schedule = generate("gpipe", {.num_devices = 1, .num_microbatches = each, .updates = 3});
  run.data = &data;
  return unpipelined_training(run);
}

bool is_adapter(const std::string& name) { return name.ends_with(".lora_a") || name.ends_with(".lora_b"); }

NamedValues trained(const NamedValues& all) {
  NamedValues some;
  for (const auto& [name, values] : all) {
    if (is_adapter(name)) some[name] = values;
  }
  return some;
}

NamedValues frozen(const NamedValues& all) {
  NamedValues some;
  for (const auto& [name, values] : all) {
    if (!is_adapter(name)) some[name] = values;
  }
  return some;
}

}  // namespace

TEST_CASE("adapters of jobs that share a pipeline get the bits that each job gets alone, in plain loops") {
  for (const Lora& lora : {kAllProducts, kOnlyQkv}) {
    for (const std::int32_t p : {1, 2, 3}) {
      for (const auto& [jobs, each] : {std::pair<std::int64_t, std::int64_t>{2, 1}, {3, 2}, {4, 1}}) {
        CAPTURE(p);
        CAPTURE(jobs);
        CAPTURE(each);
        const TrainOptions run = jobs_run(p, jobs, each, lora);
        const TrainResult together = train(run);
        REQUIRE(std::ssize(together.jobs) == jobs);
        for (std::int64_t job = 0; job < jobs; ++job) {
          CAPTURE(job);
          const DataOfJob data(*run.data, jobs * each, each, job * each);
          const TrainResult single = alone(run, data, each);
          const JobResult& found = together.jobs[static_cast<std::size_t>(job)];
          REQUIRE(found.losses.size() == 3);
          for (std::size_t update = 0; update < 3; ++update) {
            CHECK(found.losses[update] == doctest::Approx(single.losses[update]).epsilon(1e-14));
          }
          CHECK(largest_difference(found.parameters, trained(single.parameters)) == 0);
        }
        CHECK(together.jobs[0].parameters != together.jobs[1].parameters);
      }
    }
  }
}

TEST_CASE("weights beside adapters keep every bit, and adapters add nothing before the first update") {
  const TrainOptions run = jobs_run(2, 2, 1, kAllProducts);
  const TrainResult result = train(run);
  const Network plain = tiny_language_model(3, true);
  CHECK(frozen(result.parameters) == initial_weights(plain, run.model.seed, NumberType::kFloat64));
  TrainOptions whole = run;
  whole.model.network = plain;
  whole.schedule = generate("1f1b", {.num_devices = 2, .num_microbatches = 2, .updates = 3});
  CHECK(train(whole).losses.front() == result.losses.front());
  CHECK(result.losses.back() < result.losses.front());
}

TEST_CASE("adapters train in any synchronous schedule as without a pipeline") {
  for (const char* name : {"gpipe", "1f1b", "zb-h1", "zb-h2", "interleaved", "chimera", "seq1f1b", "dualpipev"}) {
    CAPTURE(name);
    const ScheduleParams params{.num_devices = 2, .num_microbatches = 4, .updates = 3};
    const auto schedule = testing::smallest(schedule_named(name), params);
    REQUIRE(schedule);
    TrainOptions run = adapted(tiny_run(*schedule, 3, true), kAllProducts);
    run.optimization.steps = 3;
    CHECK(largest_difference(train(run).parameters, unpipelined_training(run).parameters) <= 1e-11);
  }
}

TEST_CASE("the peak memory of adapters and what is frozen beside them is the simulator's to the byte") {
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    CAPTURE(spec.name);
    if (divides_vocabulary(spec) || spec.name == "mobius") continue;  // refused
    const auto run = tiny_run(spec, {.num_devices = 2, .num_microbatches = 4, .updates = 2});
    if (!run) continue;
    const TrainOptions options = adapted(*run, kOnlyQkv);
    check_same_memory(train(options).timeline.value(), predicted(options));
  }
}

TEST_CASE("jobs hold what is frozen once, and have gradients and optimizer state of adapters alone") {
  const auto bytes = [](const TrainOptions& run, MemoryClass cls) {
    std::int64_t sum = 0;
    const Timeline timeline = train(run).timeline.value();
    for (const auto& device : timeline.devices) {
      sum += device.peak_memory_by_class[static_cast<std::size_t>(cls)];
    }
    return sum;
  };
  // By block: rank 2 times inputs and outputs of 8 x 24, 8 x 8, 8 x 12, 12 x 8.
  constexpr std::int64_t kAdapters = 3 * 2 * (32 + 16 + 20 + 20);
  const TrainOptions one = jobs_run(2, 1, 1, kAllProducts);
  const TrainOptions four = jobs_run(2, 4, 1, kAllProducts);
  CHECK(bytes(one, MemoryClass::kGradients) == kAdapters * 8);
  CHECK(bytes(four, MemoryClass::kGradients) == 4 * kAdapters * 8);
  CHECK(bytes(four, MemoryClass::kOptimizer) == 4 * 2 * kAdapters * 8);
  CHECK(bytes(four, MemoryClass::kWeights) - bytes(one, MemoryClass::kWeights) == 3 * kAdapters * 8);
  // What `simulate --lora-rank` counts for the same network and the same bytes per number.
  const Network plain = tiny_language_model(3, true);
  for (const Lora& lora : {kAllProducts, kOnlyQkv}) {
    const StageLayout layout = stage_layout(with_adapters(plain, lora).layers, {0, plain.layers.size()}, {1, 5}, {});
    Parallelism job;
    job.precision = {};
    job.adapter_rank = lora.rank;
    job.adapter_targets = lora.targets;
    const StageMemory memory = job_stage_memory(plain.layers, JobShape(plain, job));
    CHECK(memory.frozen_bytes == layout.memory.frozen_bytes);
    CHECK(memory.updated_bytes() == layout.memory.updated_bytes());
    CHECK(memory.gradient_bytes == layout.memory.gradient_bytes);
    CHECK(memory.optimizer_bytes == layout.memory.optimizer_bytes);
  }
}

TEST_CASE("a run of jobs that died goes on to the same bits, from checkpoints without frozen weights") {
  TrainOptions run = jobs_run(2, 3, 1, kAllProducts);
  const TrainResult whole = train(run);
  const testing::ScratchDirectory scratch;
  run.observation.checkpoint = {.directory = scratch.path(), .resume = true};
  struct Killed : std::runtime_error {
    using std::runtime_error::runtime_error;
  };
  TrainOptions dying = run;
  dying.observation.on_update = [](std::int64_t update, double) {
    if (update == 1) throw Killed("killed");
  };
  CHECK_THROWS_AS(train(dying), Killed);
  const auto saved = newest_checkpoint(scratch.path());
  REQUIRE(saved);
  const SafetensorsFile file(*saved / "tensors.safetensors");
  std::size_t weights = 0;
  for (const auto& [name, tensor] : file.tensors()) {
    if (name.find(".weights.") == std::string::npos) continue;
    CHECK(is_adapter(name));
    ++weights;
  }
  CHECK(weights == 3 * 3 * 4 * 2);  // jobs, blocks, products
  const TrainResult resumed = train(run);
  CHECK(resumed.weights_hash == whole.weights_hash);
  CHECK(resumed.losses == whole.losses);
  for (std::size_t job = 0; job < 3; ++job) CHECK(resumed.jobs[job].parameters == whole.jobs[job].parameters);
  TrainOptions other = run;
  other.model.network =
      with_adapters(tiny_language_model(3, true), {.rank = 2, .alpha = 4, .targets = LoraTargets::kAll});
  CHECK(error_message([&] { train(other); }).find("network") != std::string::npos);
}

TEST_CASE("threads and queues give adapters the bits of one thread") {
  TrainOptions run = jobs_run(3, 4, 1, kAllProducts);
  const std::uint64_t expected = train(run).weights_hash;
  for (const char* executor : {"threads", "streams"}) {
    CAPTURE(executor);
    run.execution.executor = executor;
    CHECK(train(run).weights_hash == expected);
  }
}

TEST_CASE("what cannot train adapters is refused in one line") {
  Network bare;
  bare.name = "bare";
  bare.layers = {{.kind = LayerKind::kValues, .name = "values", .width = 4},
                 {.kind = LayerKind::kRelu, .name = "relu", .width = 4},
                 {.kind = LayerKind::kSquaredError, .name = "loss", .width = 4}};
  CHECK(error_message([&] { with_adapters(bare, kAllProducts); }) ==
        "network 'bare': has no attention, MLP or linear layer, so that nothing would be trained; expected one that "
        "adapters can stand beside");
  CHECK(error_message([&] { with_adapters(bare, kOnlyQkv); }) ==
        "network 'bare': makes no queries, keys and values, so that nothing would be trained; expected a network with "
        "attention, or adapters of all products");
  CHECK(error_message([] { with_adapters(tiny_language_model(1, false), {.rank = 9, .alpha = 1}); }) ==
        "layer 'block0.attention': a rank of adapters of 9; expected at most 8, the narrower side of the product "
        "beside it");
  CHECK(error_message([] { with_adapters(tiny_language_model(1, false), {.rank = 2, .alpha = 0}); }) ==
        "network 'tiny': expected an alpha of its adapters above 0");
  const ScheduleParams params{.num_devices = 2, .num_microbatches = 2};
  const auto moving = testing::smallest(schedule_named("mobius"), params);
  REQUIRE(moving);
  const TrainOptions moved = adapted(tiny_run(*moving, blocks_for(moving->num_stages), false), kOnlyQkv);
  CHECK(error_message([&] { train(moved); }) ==
        "train 'mobius': frozen weights do not move to other memories; expected a schedule that leaves weights on "
        "devices");
  Backend lacking = backend("cpu");
  lacking.frozen = false;
  TrainOptions run = jobs_run(2, 2, 1, kOnlyQkv);
  run.hooks.own_backend = &lacking;
  CHECK(error_message([&] { train(run); }) ==
        "train 'mlora': the back end 'cpu' trains all weights, not adapters beside frozen ones; expected cpu");
}

}  // namespace plumb

TEST_SUITE_END();
