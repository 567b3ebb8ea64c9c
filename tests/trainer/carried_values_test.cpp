#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "models/network/flow.hpp"
#include "models/network/network_io.hpp"
#include "schedules/catalogue/registry.hpp"
#include "tests/support/reference_training.hpp"
#include "tests/trainer/predicted_run.hpp"
#include "tests/trainer/tiny_pipeline.hpp"
#include "trainer/data/image_data.hpp"
#include "trainer/data/number_words.hpp"
#include "trainer/data/shape_images.hpp"
#include "trainer/ground/random.hpp"

TEST_SUITE_BEGIN("trainer");

using namespace plumb;

namespace {

Network network_of(const std::string& head, const std::string& layers) {
  return network_from_json("{\"format\": \"plumbline-network\", \"version\": 1, \"name\": \"n\", " + head +
                               ", \"open_residuals\": true, \"layers\": [" + layers + "]}",
                           "n.json");
}

/// Every kind of image layer; a shortcut, a plain skip, and one that spans both.
Network image_network() {
  return network_of(R"("sequence": 1, "samples": 3, "classes": 4)", R"(
    {"kind": "pixels", "height": 9, "columns": 8, "channels": 3},
    {"kind": "convolution", "filters": 4, "kernel": 3, "bias": false}, {"kind": "batch_norm"},
    {"kind": "relu", "name": "stem"}, {"kind": "max_pool", "kernel": 3, "stride": 2, "padding": 1, "name": "pooled"},
    {"kind": "residual", "body": [{"kind": "convolution", "filters": 6, "kernel": 3, "stride": 2},
      {"kind": "group_norm", "groups": 2}, {"kind": "relu"}, {"kind": "convolution", "filters": 6, "kernel": 1}],
      "shortcut": [{"kind": "convolution", "filters": 6, "kernel": 1, "stride": 2, "bias": false},
      {"kind": "batch_norm"}]},
    {"kind": "relu"},
    {"kind": "residual", "body": [{"kind": "convolution", "filters": 6, "kernel": 3}, {"kind": "batch_norm"}]},
    {"kind": "relu"},
    {"kind": "average_pool", "kernel": 2, "stride": 1}, {"kind": "average_pool", "name": "mean"},
    {"kind": "average_pool", "input": "pooled"}, {"kind": "linear", "width": 4, "outputs": 6},
    {"kind": "add", "from": "mean"},
    {"kind": "classifier"})");
}

/// Post-norm encoder-decoder of 2 + 3 layers.
Network translation_network() {
  const std::string norm = R"({"kind": "layer_norm"})";
  const auto attention = [](const std::string& in, const std::string& how) {
    return R"({"kind": "residual", "body": [)" + in + R"(, {"kind": "attention_core", "heads": 2)" + how +
           R"(}, {"kind": "linear", "outputs": 8}]},)";
  };
  const std::string projection = R"({"kind": "linear", "outputs": 24})";
  const std::string forward = R"({"kind": "residual", "body": [{"kind": "linear", "outputs": 12}, {"kind": "relu"},
      {"kind": "linear", "width": 12, "outputs": 8}]},)";
  const std::string all = R"(, "causal": false, "padded": true)";
  return network_of(R"("sequence": 5, "samples": 3, "width": 8, "vocabulary": 40)",
                    R"({"kind": "embedding", "sinusoidal": true}, {"repeat": 2, "layers": [)" +
                        attention(projection, all) + norm + "," + forward +
                        R"({"kind": "layer_norm", "name": "memory"}]},
      {"kind": "embedding", "target": true, "positions": 5}, {"repeat": 3, "layers": [)" +
                        attention(projection, "") + norm + "," +
                        attention(R"({"kind": "cross_projection", "from": "memory.1"})", all) + norm + "," + forward +
                        norm + R"(]}, {"kind": "head", "tied": true})");
}

const ImageData& images() {
  static const ImageData data = shape_images({.image = {9, 8, 3}, .classes = 4, .training = 40, .held_out = 10});
  return data;
}

const PairData& pairs() {
  static const PairData data = number_pairs(2, 60, 20);
  return data;
}

const TrainingData& data_for(const Network& network) {
  return network.sequence == 1 ? static_cast<const TrainingData&>(images()) : pairs();
}

TrainOptions run_of(const Network& network, Schedule schedule) {
  TrainOptions options;
  options.model.network = network;
  options.schedule = std::move(schedule);
  options.model.partition = finest_partition(network, options.schedule.num_stages);
  options.model.shape = {network.samples, network.sequence};
  options.data = &data_for(network);
  options.model.seed = 3;
  options.optimization.learning_rate.base = 0.01;
  options.model.numbers = NumberType::kFloat64;
  options.execution.executor = "serial";
  options.observation.keep_parameters = true;
  options.hooks.poison_memory = true;
  return options;
}

std::int32_t finest_stages(const Network& network) {
  return static_cast<std::int32_t>(std::ranges::count_if(network.layers, has_weights));
}

using Gradients = std::map<std::string, std::vector<double>>;

struct Trial {
  const Network& network;
  Microbatch data;
  MicrobatchIds ids;

  explicit Trial(const Network& of)
      : network(of),
        data(data_for(of).microbatch(0, {of.samples, of.sequence}, 1)),
        ids(ids_of(data, static_cast<double>(of.samples * of.sequence) * counted_share(data))) {}

  Gradients gradients(const std::vector<std::size_t>& cuts, BackwardMode mode, StashRemake remake) const {
    TinyPipeline<double> pipeline(network.layers, cuts, {network.samples, network.sequence});
    pipeline.forward(ids, remake == StashRemake::kNo ? StashLife::kUntilBackward : StashLife::kUntilEndOfForward);
    pipeline.backward(mode, remake);
    if (mode == BackwardMode::kLateW) pipeline.late_weight_grads();
    return pipeline.gradients();
  }
};

}  // namespace

TEST_CASE("gradients through skips, shortcuts, pools, norms and cross-attention agree with central differences") {
  for (const Network& network : {image_network(), translation_network()}) {
    CAPTURE(network.sequence);
    const Trial trial(network);
    TinyPipeline<double> whole(network.layers, {}, {network.samples, network.sequence});
    TinyStage<double>& stage = *whole.stages().front();
    // Move biases and scales off their symmetric start.
    Random random(5);
    for (double& weight : stage.weights) weight += 0.2 * random.normal();
    whole.forward(trial.ids);
    whole.backward(BackwardMode::kFused);
    const std::vector<double> gradients = stage.gradients;
    std::size_t first = 0;
    for (const ParameterFacts& parameter : stage.layout.parameters) {
      const auto count = static_cast<std::size_t>(parameter.count());
      double largest = 1e-4;
      for (std::size_t i = 0; i < count; ++i) largest = std::max(largest, std::abs(gradients[first + i]));
      for (std::size_t i = 0; i < count; i += 1 + count / 12) {
        CAPTURE(parameter.name);
        CAPTURE(i);
        double& weight = stage.weights[first + i];
        const double middle = weight;
        weight = middle + 1e-6;
        const double above = whole.forward(trial.ids);
        weight = middle - 1e-6;
        const double below = whole.forward(trial.ids);
        weight = middle;
        CHECK(std::abs((above - below) / 2e-6 - gradients[first + i]) < 1e-5 * largest);
      }
      first += count;
    }
  }
}

TEST_CASE("cut anywhere, backward whole or in halves, made again or not, a network has the gradients of one piece") {
  for (const Network& network : {image_network(), translation_network()}) {
    CAPTURE(network.sequence);
    const Trial trial(network);
    const Gradients expected = trial.gradients({}, BackwardMode::kFused, StashRemake::kNo);
    std::vector<std::vector<std::size_t>> all_cuts;
    for (std::size_t cut = 1; cut < network.layers.size(); ++cut) all_cuts.push_back({cut});
    all_cuts.emplace_back();
    for (std::size_t cut = 1; cut < network.layers.size(); ++cut) all_cuts.back().push_back(cut);
    for (const std::vector<std::size_t>& cuts : all_cuts) {
      CAPTURE(cuts.front());
      for (const BackwardMode mode : {BackwardMode::kFused, BackwardMode::kSplit, BackwardMode::kLateW}) {
        for (const StashRemake remake : {StashRemake::kNo, StashRemake::kFolded, StashRemake::kExplicit}) {
          const Gradients found = trial.gradients(cuts, mode, remake);
          const double difference = largest_difference(found, expected);
          CHECK(difference < 1e-12);
        }
      }
    }
  }
}

TEST_CASE("pipelines of opened networks train to the bits of one piece, in memory predicted to the byte") {
  for (const Network& network : {image_network(), translation_network()}) {
    CAPTURE(network.sequence);
    for (const auto& [name, recompute] : {std::pair{"gpipe", true}, std::pair{"1f1b", false}, std::pair{"zb-h1", false},
                                          std::pair{"1f1b", true}, std::pair{"chimera", false}}) {
      CAPTURE(std::string(name));
      CAPTURE(recompute);
      const bool both_ways = std::string(name) == "chimera";
      ScheduleParams params{.num_devices = both_ways ? 4 : finest_stages(network), .num_microbatches = 4, .updates = 2};
      Schedule schedule = generate(name, params);
      if (recompute) {
        schedule.recompute.emplace_back();
        schedule.recompute.back().last_stage = schedule.num_stages - 1;
      }
      const TrainOptions options = run_of(network, std::move(schedule));
      const TrainResult result = train(options);
      check_same_memory(*result.timeline, predicted(options));
      TrainOptions whole = options;
      whole.optimization.steps = 2;
      const TrainResult reference = unpipelined_training(whole);
      // Adam divides by gradients, some of them tiny. 1F1B adds them up in the order of one piece, but for the weight
      // of the embedding that the head shares.
      const double difference = largest_difference(result.parameters, reference.parameters);
      CHECK(difference <= (std::string(name) != "1f1b" ? 1e-9 : network.layers.back().tied ? 1e-12 : 0.0));
    }
  }
}

TEST_CASE("the newest weights are tried on held-out data without changing the run") {
  const Network network = image_network();
  TrainOptions options =
      run_of(network, generate("pipemare", {.num_devices = 3, .num_microbatches = 4, .updates = 10}));
  const TrainResult plain = train(options);
  options.observation.evaluation.every = 4;
  std::vector<std::int64_t> seen;
  options.observation.evaluation.on_evaluation = [&](const Evaluation& evaluation) {
    seen.push_back(evaluation.update);
  };
  const TrainResult tried = train(options);
  CHECK(seen == std::vector<std::int64_t>{4, 8, 10});
  REQUIRE(tried.evaluations.size() == 3);
  CHECK(tried.evaluations.back().targets == 10);  // all of them, although a microbatch has three
  CHECK(tried.weights_hash == plain.weights_hash);
  CHECK(plain.evaluations.empty());
}

TEST_SUITE_END();
