#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "models/network/lora.hpp"
#include "sim/memory/memory.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/trainer/predicted_run.hpp"
#include "tests/trainer/pytorch/stored_vectors.hpp"
#include "tests/trainer/training_cases.hpp"
#include "trainer/backends/backends.hpp"
#include "trainer/checkpoint/checkpoint.hpp"
#include "trainer/train.hpp"

TEST_SUITE_BEGIN("trainer");

using plumb::testing::distance;
using plumb::testing::drawn;
using plumb::testing::error_message;

namespace plumb {
namespace {

constexpr std::int64_t kKnownWords = 11;
constexpr std::int64_t kTaughtMicrobatches = 8;
constexpr MicrobatchShape kWordsShape{.samples = 2, .sequence = 3};

/// The data of make_teacher_vectors.py.
class DrawnWords final : public TrainingData {
 public:
  DataFacts facts() const override {
    return {.name = "drawn words", .vocabulary = kKnownWords, .classes = kKnownWords, .identity = "drawn words"};
  }
  Microbatch microbatch(std::int64_t k, const MicrobatchShape& shape, std::uint64_t) const override {
    Microbatch made;
    made.tokens = words("tokens", k, shape);
    made.targets = words("targets", k, shape);
    return made;
  }
  std::int64_t held_out_samples(std::int64_t) const override { return 0; }
  Microbatch held_out(std::int64_t, const MicrobatchShape&) const override { return {}; }

 private:
  static std::vector<std::int32_t> words(const std::string& what, std::int64_t k, const MicrobatchShape& shape) {
    std::vector<std::int32_t> ids;
    for (const double x : drawn(what + "/" + std::to_string(k), static_cast<std::size_t>(shape.tokens()))) {
      ids.push_back(static_cast<std::int32_t>((x + 1) / 2 * kKnownWords));
    }
    return ids;
  }
};

/// The network of make_teacher_vectors.py.
Network words_network() {
  Network network;
  network.name = "words";
  network.sequence = kWordsShape.sequence;
  network.layers = {{.kind = LayerKind::kEmbedding, .name = "embedding", .width = 6, .vocabulary = kKnownWords},
                    {.kind = LayerKind::kLinear, .name = "inner", .width = 6, .outputs = 9},
                    {.kind = LayerKind::kRelu, .name = "relu", .width = 9},
                    {.kind = LayerKind::kHead, .name = "head", .width = 9, .vocabulary = kKnownWords}};
  return network;
}

NamedValues drawn_weights(const std::string& whose) {
  NamedValues values;
  for (const auto& [name, count] : {std::pair<std::string, std::size_t>{"embedding.weight", kKnownWords * 6},
                                    {"inner.weight", 9 * 6},
                                    {"inner.bias", 9},
                                    {"head.weight", kKnownWords * 9}}) {
    values[name] = drawn(whose + "/" + name, count);
  }
  return values;
}

/// A case of make_teacher_vectors.py: five updates on p devices, in documents of `updates`.
TrainOptions stored_run(std::int32_t p, std::int64_t updates, const TeacherOptions& teacher, bool given) {
  static const DrawnWords words;
  TrainOptions options;
  options.schedule =
      generate("tspipe", {.num_devices = p, .num_microbatches = kTaughtMicrobatches, .updates = updates});
  options.data = &words;
  options.model.network = words_network();
  options.model.partition = equal_partition(options.model.network, p);
  options.model.shape = kWordsShape;
  options.model.numbers = NumberType::kFloat64;
  options.model.initial_parameters = drawn_weights("student");
  if (given) options.model.teacher_parameters = drawn_weights("teacher");
  options.optimization.optimizer = {.kind = OptimizerKind::kSgd, .momentum = 0.9, .weight_decay = 0};
  options.optimization.learning_rate.base = 0.5;
  options.optimization.teacher = teacher;
  options.optimization.steps = 5;
  options.execution.executor = "serial";
  options.observation.keep_parameters = true;
  options.hooks.poison_memory = true;
  return options;
}

/// A transformer and its teacher on p devices, four updates.
TrainOptions taught_run(std::int32_t p, std::int64_t updates = 4) {
  TrainOptions options = tiny_run("tspipe", {.num_devices = p, .num_microbatches = 12, .updates = updates}, 3, p < 2);
  options.model.network = tiny_language_model(3, false);
  options.optimization.steps = 4;
  options.optimization.teacher = {.weight = 0.5, .temperature = 2, .decay = 0.9};
  return options;
}

}  // namespace

TEST_CASE("a student gets the losses and weights that PyTorch gives it with the loss and versions of TSPipe's code") {
  struct Case {
    std::string name;
    TeacherOptions teacher;
    bool given = false;
  };
  const SafetensorsFile file(testing::stored("teacher.safetensors"));
  const auto stored = [&](const std::string& name) { return testing::numbers_of(file.tensors().at(name)); };
  for (const Case& one : {Case{"follows", {.weight = 0.3, .temperature = 2.5, .decay = 0.9}},
                          Case{"given", {.weight = 0.5, .temperature = 2, .decay = 0.8}, true},
                          Case{"fixed", {.weight = 1, .temperature = 4, .decay = 1}, true}}) {
    CAPTURE(one.name);
    for (const auto& [p, updates] : {std::pair<std::int32_t, std::int64_t>{1, 5}, {2, 5}, {3, 5}, {3, 1}}) {
      CAPTURE(p);
      CAPTURE(updates);
      const TrainResult result = train(stored_run(p, updates, one.teacher, one.given));
      CHECK(distance(result.losses, stored(one.name + "/losses")) < 1e-12);
      for (const auto& [name, values] : result.parameters)
        CHECK(distance(values, stored(one.name + "/" + name)) < 1e-12);
    }
  }
}

TEST_CASE("a teacher on several devices gives the bits of one device, however the updates are cut into documents") {
  const TrainResult one = train(taught_run(1));
  TrainOptions alone = taught_run(1);
  alone.optimization.teacher.weight = 0;
  CHECK(largest_difference(train(alone).parameters, one.parameters) > 1e-4);
  for (const std::int32_t p : {2, 3, 4}) {
    for (const std::int64_t updates : {1, 2, 4}) {
      CAPTURE(p);
      CAPTURE(updates);
      const TrainResult several = train(taught_run(p, updates));
      CHECK(several.losses == one.losses);
      CHECK(largest_difference(several.parameters, one.parameters) == 0);
    }
  }
}

TEST_CASE("a teacher follows updates that all stages clip together, however many devices there are") {
  const auto clipped = [](std::int32_t p) {
    TrainOptions run = taught_run(p);
    run.optimization.clip_norm = 0.1;
    run.optimization.clip_scope = ClipScope::kGlobal;
    return train(run);
  };
  const TrainResult one = clipped(1);
  CHECK(largest_difference(one.parameters, train(taught_run(1)).parameters) > 1e-4);
  for (const std::int32_t p : {2, 3}) {
    CAPTURE(p);
    CHECK(largest_difference(clipped(p).parameters, one.parameters) < 1e-12);
  }
}

TEST_CASE("threads and queues give a student and its teacher the bits of one thread") {
  TrainOptions run = taught_run(3);
  const std::uint64_t expected = train(run).weights_hash;
  for (const char* executor : {"threads", "streams"}) {
    CAPTURE(executor);
    run.execution.executor = executor;
    CHECK(train(run).weights_hash == expected);
  }
}

TEST_CASE("the peak memory of a student and its teacher is the simulator's to the byte, with what waits for the loss") {
  for (const std::int32_t p : {1, 2, 4}) {
    for (const bool adapters : {false, true}) {
      for (const ReceivePlacement receives : {ReceivePlacement::kAhead, ReceivePlacement::kLate}) {
        CAPTURE(p);
        CAPTURE(adapters);
        TrainOptions run = taught_run(p);
        run.optimization.steps = 0;
        run.execution.lowering.receives = receives;
        if (adapters) run.model.network = with_adapters(std::move(run.model.network), {.rank = 2, .alpha = 4});
        check_same_memory(train(run).timeline.value(), predicted(run));
      }
    }
  }
  // All logits of an update wait on the last device before its first forward, and every device has a teacher's weights.
  TrainOptions run = taught_run(2);
  const StageCosts costs = untimed_costs(run.model.network, run.model.partition, run.model.shape,
                                         precision_of(run.model.numbers, run.optimization.optimizer));
  const Cluster cluster = free_cluster(2);
  const Program program = lower(run.schedule, costs, &cluster);
  const MemoryModel model(program);
  std::int64_t waiting = 0;
  std::int64_t most = 0;
  for (const MemoryChange& change : model.changes(DeviceId{1})) {
    if (change.buffer == BufferKind::kTeacherOutput) waiting += change.bytes;
    most = std::max(most, waiting);
  }
  constexpr std::int64_t kRows = 2 * 5;  // of a microbatch
  CHECK(most == 12 * kRows * 256 * 8);
  CHECK(waiting == 0);
  for (const DeviceId device : {DeviceId{0}, DeviceId{1}}) {
    const MemoryByClass resident = model.resident(device);
    CHECK(resident[static_cast<std::size_t>(MemoryClass::kWeightVersions)] ==
          resident[static_cast<std::size_t>(MemoryClass::kWeights)]);
  }
}

TEST_CASE("a run with a teacher that died goes on to the same bits") {
  TrainOptions run = taught_run(3);
  const TrainResult whole = train(run);
  struct Killed : std::runtime_error {
    using std::runtime_error::runtime_error;
  };
  for (const std::int64_t last : {0, 1, 2}) {
    CAPTURE(last);
    const testing::ScratchDirectory scratch;
    run.observation.checkpoint = {.directory = scratch.path(), .resume = true};
    TrainOptions dying = run;
    dying.observation.on_update = [last](std::int64_t update, double) {
      if (update == last + 1) throw Killed("killed");
    };
    CHECK_THROWS_AS(train(dying), Killed);
    REQUIRE(newest_checkpoint(scratch.path()));
    const TrainResult resumed = train(run);
    CHECK(resumed.weights_hash == whole.weights_hash);
    CHECK(resumed.losses == whole.losses);
  }
  const testing::ScratchDirectory scratch;
  run.observation.checkpoint = {.directory = scratch.path(), .resume = true};
  train(run);
  run.optimization.teacher.temperature = 3;
  CHECK(error_message([&] { train(run); }).find("teacher") != std::string::npos);
}

TEST_CASE("what cannot have a teacher is refused in one line") {
  TrainOptions run = taught_run(2);
  Backend lacking = backend("cpu");
  lacking.teacher = false;
  run.hooks.own_backend = &lacking;
  CHECK(error_message([&] { train(run); }) == "train 'tspipe': the back end 'cpu' runs no teacher; expected cpu");
  TrainOptions plain = tiny_run("gpipe", {.num_devices = 2, .num_microbatches = 4});
  plain.optimization.teacher.weight = 0.5;
  CHECK(error_message([&] { train(plain); }) ==
        "train 'gpipe': no teacher runs in it; expected a schedule that has one, such as tspipe");
  run = taught_run(2);
  run.optimization.teacher.decay = 1.5;
  CHECK(error_message([&] { train(run); }) ==
        "train 'tspipe': expected a weight and a decay of the teacher from 0 to 1, and a temperature above 0");
  run = stored_run(2, 5, {.weight = 0.5}, true);
  run.model.network =
      with_adapters(std::move(run.model.network), {.rank = 2, .alpha = 4, .targets = LoraTargets::kAll});
  CHECK(error_message([&] { train(run); }) ==
        "train 'tspipe': student and teacher share what is frozen beside adapters; expected a teacher of the same "
        "weights");
}

}  // namespace plumb

TEST_SUITE_END();
