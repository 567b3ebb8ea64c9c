#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/import/load_network.hpp"
#include "models/network/lora.hpp"
#include "schedules/document/methods.hpp"
#include "tests/cuda_kernels/device_buffer.hpp"
#include "tests/support/device_training.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/trainer/predicted_run.hpp"
#include "tests/trainer/training_cases.hpp"
#include "trainer/data/number_words.hpp"
#include "trainer/data/pair_data.hpp"
#include "trainer/data/shape_images.hpp"

TEST_SUITE_BEGIN("cuda_kernels");

namespace plumb {

namespace {

/// Plain gradient descent: a step that is as exact as the gradient, which Adam's first steps are not.
TrainOptions descending(TrainOptions options) {
  options.optimization.optimizer = {.kind = OptimizerKind::kSgd, .momentum = 0.9};
  options.optimization.learning_rate.base = 0.05;
  return options;
}

/// Of that parameter which is farthest off.
double largest_distance(const NamedValues& values, const NamedValues& expected) {
  REQUIRE(values.size() == expected.size());
  double largest = 0;
  for (const auto& [name, all] : expected) largest = std::max(largest, kernels::distance(values.at(name), all));
  return largest;
}

/// Of all parameters together: biases that began as zeros are no better than their gradients.
double whole_distance(const NamedValues& values, const NamedValues& expected) {
  std::vector<double> one;
  std::vector<double> other;
  for (const auto& [name, all] : expected) {
    one.insert(one.end(), values.at(name).begin(), values.at(name).end());
    other.insert(other.end(), all.begin(), all.end());
  }
  return kernels::distance(one, other);
}

/// How far the device's training may be from the CPU's in double, by relative norms.
struct Tolerance {
  double gradients = 0;   ///< of every parameter
  double parameters = 0;  ///< of all together
  double loss = 0;
};

/// Also: the bytes are those that the simulator predicts.
void check_as_cpu(TrainOptions options, NumberType numbers, const Tolerance& tolerance) {
  options.model.numbers = NumberType::kFloat64;
  options.execution.executor = "serial";
  const TrainResult expected = train(options);
  options.model.numbers = numbers;
  const TrainResult result = device_training(options);
  CHECK(largest_distance(result.gradients, expected.gradients) <= tolerance.gradients);
  CHECK(whole_distance(result.parameters, expected.parameters) <= tolerance.parameters);
  REQUIRE(result.losses.size() == expected.losses.size());
  for (std::size_t i = 0; i < result.losses.size(); ++i) {
    CHECK(std::abs(result.losses[i] - expected.losses[i]) <= tolerance.loss * expected.losses[i]);
  }
  check_same_memory(result.timeline.value(), predicted(options));
}

/// 24 bits, sums of some hundred terms.
constexpr Tolerance kSingle{.gradients = 2e-5, .parameters = 1e-6, .loss = 1e-6};

struct Case {
  std::string name;
  std::int32_t p = 2;
  std::int64_t m = 2;
  std::map<std::string, std::string> options = {};
  bool tied = false;
};

TrainOptions run_of(const Case& of) {
  return descending(tiny_run(
      of.name, {.num_devices = of.p, .num_microbatches = of.m, .updates = 1, .options = of.options}, 2, of.tied));
}

/// An update of a network of the catalogue on two devices.
TrainOptions preset_run(const std::string& network, const MicrobatchShape& shape, const TrainingData& data) {
  TrainOptions options = run_of({.name = "1f1b"});
  options.model.network = load_network(network);
  options.model.partition = equal_partition(options.model.network, options.schedule.num_stages);
  options.model.shape = shape;
  options.data = &data;
  return options;
}

const TrainingData& images() {
  static const ImageData data = shape_images({.training = 32, .held_out = 8});
  return data;
}

const TrainingData& pairs() {
  static const PairData data = number_pairs(3);
  return data;
}

/// bf16 has 8 bits, and a gradient passes some thirty roundings. The updates work on float32 weights: no worse than the
/// step that the gradient makes.
constexpr Tolerance kBrief{.gradients = 5e-2, .parameters = 1e-3, .loss = 2e-3};
static_assert(kBrief.parameters < 1.0 / 512, "closer than bf16 could be");
/// Of what is frozen there are no float32 weights.
constexpr Tolerance kBriefAndFrozen{.gradients = 5e-2, .parameters = 1.0 / 512, .loss = 2e-3};

/// Of a document of one, so that nothing is under way between them.
TrainOptions two_updates(NumberType numbers) {
  TrainOptions options = descending(tiny_run("1f1b", {.num_devices = 2, .num_microbatches = 2, .updates = 1}));
  options.optimization.steps = 2;
  options.model.numbers = numbers;
  return options;
}

struct Killed {};

/// Dies in the second update, with a checkpoint of the first.
void die_half_way(TrainOptions options, TrainResult (*by)(TrainOptions)) {
  options.observation.on_update = [](std::int64_t update, double) {
    if (update == 1) throw Killed();
  };
  CHECK_THROWS_AS(by(std::move(options)), Killed);
}

TrainResult on_cpu(TrainOptions options) { return train(options); }

}  // namespace

TEST_CASE("stages on CUDA train as the CPU's: one backward, split ones, late W, copies and shared weights") {
  for (const Case& of : std::vector<Case>{
           {.name = "1f1b"}, {.name = "zb-h1"}, {.name = "zb-v"}, {.name = "chimera", .tied = true}, {.name = "2bp"}}) {
    CAPTURE(of.name);
    check_as_cpu(run_of(of), NumberType::kFloat32, kSingle);
  }
}

TEST_CASE("adapters on CUDA train beside frozen weights as the CPU's do, those of several jobs, too") {
  for (const Case& of : std::vector<Case>{{.name = "1f1b", .tied = true},
                                          {.name = "zb-h1"},
                                          {.name = "mlora", .m = 4, .options = {{"adapters", "2"}}}}) {
    CAPTURE(of.name);
    TrainOptions options = run_of(of);
    const Lora lora{.rank = 3, .alpha = 6, .targets = LoraTargets::kAll};
    options.model.network = with_adapters(std::move(options.model.network), lora);
    options.optimization.steps = 2;  // at first B is 0, and so is the gradient of A
    check_as_cpu(options, NumberType::kFloat32, kSingle);
    check_as_cpu(options, NumberType::kBFloat16, kBriefAndFrozen);
  }
}

TEST_CASE("stages on CUDA make stashes again as the CPU's do, folded or as an action of its own") {
  for (const Case& of : std::vector<Case>{{.name = "1f1b", .options = {{"recompute", "always"}}},
                                          {.name = "gpipe", .options = {{"recompute", "early-except-last"}}}}) {
    CAPTURE(of.name);
    check_as_cpu(run_of(of), NumberType::kFloat32, kSingle);
  }
}

TEST_CASE("stages on CUDA read the keys of earlier sequence slices, also where their stash is dropped") {
  for (const Case& of : std::vector<Case>{
           {.name = "terapipe", .options = {{"slices", "2"}, {"recompute", "always"}}},
           {.name = "seq1f1b", .options = {{"slices", "3"}, {"recompute", "except-last"}}},
           {.name = "seq1f1b", .options = {{"slices", "2"}, {"backward", "split"}, {"recompute", "always"}}}}) {
    CAPTURE(of.name);
    check_as_cpu(run_of(of), NumberType::kFloat32, kSingle);
  }
}

TEST_CASE("gpt-tiny on CUDA trains as on the CPU, in the bytes that the simulator predicts") {
  const TrainOptions options = preset_run("gpt-tiny", {1, 8}, test_text());
  check_as_cpu(options, NumberType::kFloat32, kSingle);
  check_as_cpu(options, NumberType::kBFloat16, kBrief);
}

TEST_CASE("llama-tiny on CUDA trains as on the CPU, in bf16 with sequence slices and stashes that are dropped") {
  TrainOptions options = preset_run("llama-tiny", {1, 8}, test_text());
  check_as_cpu(options, NumberType::kFloat32, kSingle);
  options.schedule = generate(
      "seq1f1b",
      {.num_devices = 2, .num_microbatches = 2, .updates = 1, .options = {{"slices", "2"}, {"recompute", "always"}}});
  options.model.partition = equal_partition(options.model.network, options.schedule.num_stages);
  check_as_cpu(options, NumberType::kBFloat16, kBrief);
}

TEST_CASE("resnet-20-tiny on CUDA trains as on the CPU, in the bytes that the simulator predicts") {
  // A rectifier at 0 may fall to either side, and batch norm divides by small deviations.
  constexpr Tolerance kImages{.gradients = 1e-3, .parameters = 1e-4, .loss = 1e-5};
  check_as_cpu(preset_run("resnet-20-tiny", {2, 1}, images()), NumberType::kFloat32, kImages);
}

TEST_CASE("the encoder-decoder on CUDA trains as on the CPU") {
  check_as_cpu(preset_run("transformer-tiny", {1, 8}, pairs()), NumberType::kFloat32, kSingle);
}

TEST_CASE(
    "a bf16 run that died in the middle of the pipeline goes on to the bits of the run that did not, and only so") {
  const testing::ScratchDirectory scratch;
  TrainOptions options = descending(tiny_run("pipedream-2bw", {.num_devices = 2, .num_microbatches = 2, .updates = 3}));
  options.model.numbers = NumberType::kBFloat16;
  const TrainResult whole = device_training(options);
  options.observation.checkpoint = {.directory = scratch.path(), .resume = true};
  die_half_way(options, device_training);
  options.model.numbers = NumberType::kFloat32;
  CHECK(testing::error_message([&] {
          train(options);
        }).find("the checkpoint was saved with 'bf16', this run has 'float32'; expected") != std::string::npos);
  options.model.numbers = NumberType::kBFloat16;
  CHECK(device_training(options).weights_hash == whole.weights_hash);
}

TEST_CASE("a checkpoint of bf16 goes on in float32 on the CPU, and back") {
  const TrainResult single = train(two_updates(NumberType::kFloat32));
  for (const bool begins_in_bf16 : {true, false}) {
    CAPTURE(begins_in_bf16);
    const testing::ScratchDirectory scratch;
    TrainOptions brief = two_updates(NumberType::kBFloat16);
    TrainOptions whole = two_updates(NumberType::kFloat32);
    brief.observation.checkpoint = whole.observation.checkpoint = {.directory = scratch.path(), .resume = true};
    begins_in_bf16 ? die_half_way(brief, device_training) : die_half_way(whole, on_cpu);
    const TrainResult moved = begins_in_bf16 ? train(whole) : device_training(brief);
    CHECK((moved.losses[0] == single.losses[0]) == !begins_in_bf16);
    CHECK((moved.losses[1] == single.losses[1]) == false);
    CHECK(whole_distance(moved.parameters, single.parameters) <= kBrief.parameters);
  }
}

TEST_CASE("bf16 is refused where weights would change beside updates, and by back ends that do not have it") {
  TrainOptions options = tiny_run("1f1b", {.num_devices = 2, .num_microbatches = 2, .updates = 1});
  options.model.numbers = NumberType::kBFloat16;
  CHECK(testing::error_message([&] { train(options); }) ==
        "train '1f1b': the back end 'cpu' has no bf16; expected float32 or float64");
  TrainOptions methods = tiny_run("pipemare", {.num_devices = 2, .num_microbatches = 2, .updates = 0});
  methods.schedule = with_methods(methods.schedule, "t1:K=2,t2:D=0.135");
  methods.model.numbers = NumberType::kBFloat16;
  CHECK(testing::error_message([&] { device_training(methods); }) ==
        "train 'pipemare': methods and SYNC_WEIGHTS change weights between updates, which bf16 has twice; expected "
        "float32");
}

}  // namespace plumb

TEST_SUITE_END();
