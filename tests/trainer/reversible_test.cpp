#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/costs/reverses.hpp"
#include "models/import/load_network.hpp"
#include "models/network/network_io.hpp"
#include "schedules/catalogue/registry.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/reference_training.hpp"
#include "tests/trainer/predicted_run.hpp"
#include "trainer/data/shape_images.hpp"
#include "trainer/data/value_data.hpp"

TEST_SUITE_BEGIN("trainer");

namespace plumb {
namespace {

const ImageData& small_images() {
  static const ImageData data = shape_images({.image = {12, 12, 3}, .classes = 10, .training = 40, .held_out = 10});
  return data;
}

/// The small RevNet: stem and first block, three coupled stages (the second of two blocks), the way down, ...
TrainOptions revnet_run(Schedule schedule) {
  TrainOptions options;
  options.model.network = load_network("revnet-tiny");
  options.schedule = std::move(schedule);
  options.model.partition = parse_partition("5,1,2,2,1,3,5", options.model.network.layers.size());
  options.model.shape = {2, 1};
  options.data = &small_images();
  options.model.seed = 5;
  options.optimization.learning_rate.base = 0.05;
  options.optimization.optimizer = {.kind = OptimizerKind::kSgd, .momentum = 0.9, .weight_decay = 0};
  options.model.numbers = NumberType::kFloat64;
  options.execution.executor = "serial";
  options.observation.keep_parameters = true;
  options.hooks.poison_memory = true;
  return options;
}

TrainOptions revnet_run(const std::string& schedule, std::int64_t updates) {
  return revnet_run(generate(schedule, {.num_devices = 7, .num_microbatches = 4, .updates = updates}));
}

/// x1 = w0 x, x2 = x1 + w1 x1, x3 = x1 + w2 x2, x4 = x2 + w3 x3, loss 0.5 (x3 + x4 - target)^2; a stage for each
/// weight.
TrainOptions coupled_numbers(std::int64_t updates) {
  TrainOptions options;
  options.model.network = network_from_json(R"({"format": "plumbline-network", "version": 1, "name": "n", "sequence": 1,
    "width": 1, "layers": [{"kind": "values"}, {"kind": "linear", "name": "x1", "outputs": 1, "bias": false},
    {"kind": "residual", "name": "x2", "body": [{"kind": "linear", "name": "w1", "outputs": 1, "bias": false}]},
    {"kind": "residual", "name": "x3", "from": "x1",
     "body": [{"kind": "linear", "name": "w2", "outputs": 1, "bias": false}]},
    {"kind": "residual", "name": "x4", "from": "x2",
     "body": [{"kind": "linear", "name": "w3", "outputs": 1, "bias": false}]},
    {"kind": "add", "from": "x3"}, {"kind": "squared_error"}]})",
                                            "n.json");
  options.model.partition = {{0, 2, 3, 4, 5, 7}};
  options.schedule = generate("petra", {.num_devices = 5, .num_microbatches = 1, .updates = updates});
  options.model.shape = {1, 1};
  static const ValueData data({1, 1.25, 1.5, 1.75}, 1, {1.5, 1.875, 2.25, 2.625}, 1);
  options.data = &data;
  options.optimization.steps = updates;
  options.optimization.learning_rate.base = 0.02;
  options.optimization.optimizer = {.kind = OptimizerKind::kSgd, .momentum = 0, .weight_decay = 0};
  options.model.numbers = NumberType::kFloat64;
  options.execution.executor = "serial";
  options.observation.keep_parameters = true;
  options.hooks.poison_memory = true;
  options.model.initial_parameters = {
      {"x1.weight", {0.9}}, {"w1.weight", {0.3}}, {"w2.weight", {-0.4}}, {"w3.weight", {0.2}}};
  return options;
}

/// PETRA's backward for these numbers, written out: what each stage of one weight has at F and B of microbatch k.
std::vector<double> petra_by_hand(std::size_t updates) {
  std::vector<std::vector<double>> w{{0.9}, {0.3}, {-0.4}, {0.2}};  // by weight, then version
  // D = 2 (p - 1 - d) other backwards lie between the forward and the backward on device d of p = 5.
  const auto at_forward = [&](std::size_t i, std::size_t k) {
    const std::size_t distance = 2 * (4 - i);
    return w[i][k < distance ? 0 : k - distance];
  };
  for (std::size_t k = 0; k < updates; ++k) {
    const double x = 1 + 0.25 * static_cast<double>(k % 4);
    const double x1 = at_forward(0, k) * x;
    const double x2 = x1 + at_forward(1, k) * x1;
    const double x3 = x1 + at_forward(2, k) * x2;
    const double x4 = x2 + at_forward(3, k) * x3;
    const double g = x3 + x4 - 1.5 * x;
    // Stage of w3 gets (x3, x4) back and makes x2 with the weight of now; that of w2 gets (x2, x3) and makes x1.
    const double w3 = w[3][k];
    const double w2 = w[2][k];
    const double w1 = w[1][k];
    const double made_x2 = x4 - w3 * x3;
    const double made_x1 = x3 - w2 * made_x2;
    const double g3 = g + w3 * g;         // of x3
    const double g2 = g + w2 * g3;        // of x2
    const double g1 = g3 + g2 + w1 * g2;  // of x1
    const std::vector<double> gradients{g1 * x, g2 * x1, g3 * made_x2, g * x3};
    static_cast<void>(made_x1);  // the stage of w1 is no coupled one: it has kept x1
    for (std::size_t i = 0; i < 4; ++i) w[i].push_back(w[i].back() - 0.02 * gradients[i]);
  }
  return {w[0].back(), w[1].back(), w[2].back(), w[3].back()};
}

}  // namespace

TEST_CASE("stages of coupled residuals keep nothing, and the stage after sends their output back") {
  const TrainOptions options = revnet_run("gpipe", 1);
  const StageCosts costs = untimed_costs(options.model.network, options.model.partition, options.model.shape,
                                         precision_of<double>(options.optimization.optimizer));
  const std::vector<bool> reversed{false, true, true, false, true, true, false};
  for (std::size_t stage = 0; stage < 7; ++stage) {
    CAPTURE(stage);
    const StageMemory& memory = costs.memory[stage];
    CHECK(reverses(memory) == reversed[stage]);
    CHECK(memory.output_grad_bytes == (reversed[stage] ? 2 : 1) * memory.output_bytes);
    CHECK(memory.input_grad_bytes == (stage > 0 && reversed[stage - 1] ? 2 : 1) * memory.input_bytes);
    if (!reversed[stage]) continue;
    CHECK(memory.input_last_use == LastUse::kForward);
    for (const StashTensor& tensor : memory.stash) CHECK(tensor.made_by == StashTensor::MadeBy::kInputGrad);
  }
}

TEST_CASE("a synchronous run that reverses has the weights and gradients of the plain network") {
  for (const std::string schedule : {"gpipe", "1f1b", "zb-h1"}) {
    CAPTURE(schedule);
    TrainOptions options = revnet_run(schedule, 3);
    options.optimization.steps = 3;
    const TrainResult pipeline = train(options);
    const TrainResult plain = unpipelined_training(options);
    CHECK(largest_difference(pipeline.parameters, plain.parameters) < 1e-10);
    CHECK(largest_difference(pipeline.gradients, plain.gradients) < 1e-10);
  }
}

TEST_CASE("memory of runs that reverse equals the simulator's to the byte, also where recompute is asked for") {
  for (const std::string schedule : {"gpipe", "1f1b", "zb-h1", "petra", "pipemare", "pipedream"}) {
    CAPTURE(schedule);
    const TrainOptions options = revnet_run(schedule, 2);
    check_same_memory(train(options).timeline.value(), predicted(options));
  }
}

TEST_CASE("PETRA's backward goes back from the output with the weights of the moment, as written out by hand") {
  for (const std::int64_t updates : {3, 12}) {
    const TrainOptions options = coupled_numbers(updates);
    const NamedValues weights = train(options).parameters;
    const std::vector<double> by_hand = petra_by_hand(static_cast<std::size_t>(updates));
    const std::vector<std::string> names{"x1.weight", "w1.weight", "w2.weight", "w3.weight"};
    for (std::size_t i = 0; i < 4; ++i) {
      CAPTURE(names[i]);
      CHECK(weights.at(names[i]).front() == doctest::Approx(by_hand[i]).epsilon(1e-12));
    }
  }
}

TEST_CASE("a reversing stage has no explicit recompute, and a coupled residual no shortcut") {
  TrainOptions options = revnet_run("1f1b", 1);
  std::vector<Action> actions = expand(options.schedule.devices[1]);
  const auto backward = std::ranges::find(actions, Op::kB, &Action::op);
  Action again = *backward;
  again.op = Op::kR;
  actions.insert(backward, again);
  options.schedule.devices[1] = {};
  options.schedule.devices[1].actions = actions;
  CHECK(testing::error_message([&] { train(options); }) ==
        "1R0: the backward of its stage makes its input again; expected no R of it");
}

}  // namespace plumb

TEST_SUITE_END();
