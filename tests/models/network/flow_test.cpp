#include <algorithm>
#include <map>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "models/import/load_network.hpp"
#include "models/network/flow.hpp"
#include "models/network/layer_shape.hpp"
#include "models/network/network_io.hpp"
#include "models/stages/lay_out_stage.hpp"
#include "models/stages/network_costs.hpp"
#include "models/stages/partition.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("models");

using namespace plumb;
using plumb::testing::error_message;

namespace {

std::int32_t layers_with_weights(const Network& network) {
  return static_cast<std::int32_t>(std::ranges::count_if(network.layers, has_weights));
}

Network network_of(const std::string& layers) {
  return network_from_json(
      R"({"format": "plumbline-network", "version": 1, "name": "n", "sequence": 1, "width": 4, "classes": 3, "layers": [)" +
          layers + "]}",
      "n.json");
}

}  // namespace

TEST_CASE("a residual reads what its first layer reads and makes what its last one makes, and without layers nothing") {
  LayerSpec residual;
  residual.kind = LayerKind::kResidual;
  CHECK(input_width(residual) == 0);
  CHECK(output_width(residual) == 0);
  for (const auto& [width, outputs] : {std::pair{6, 9}, std::pair{9, 4}}) {
    LayerSpec& linear = residual.body.emplace_back();
    linear.kind = LayerKind::kLinear;
    linear.width = width;
    linear.outputs = outputs;
  }
  CHECK(input_width(residual) == 6);
  CHECK(output_width(residual) == 4);
}

TEST_CASE("ResNet-50 is cut into 107 stages, the 12-layer Transformer into 93, a layer with weights each") {
  const std::map<std::string, std::int32_t> stages{
      {"resnet-50", 107},       {"resnet-50-cifar", 107},    {"resnet-50-tiny", 107},
      {"resnet-152", 311},      {"resnet-20", 43},           {"resnet-20-tiny", 43},
      {"transformer-base", 93}, {"transformer-12-tiny", 93}, {"transformer-tiny", 33}};
  for (const auto& [name, count] : stages) {
    CAPTURE(name);
    const Network network = load_network(name);
    CHECK(layers_with_weights(network) == count);
    const Partition finest = finest_partition(network, count);
    for (std::size_t stage = 0; stage < finest.num_stages(); ++stage) {
      const LayerRange range = finest.range(stage);
      const auto begin = network.layers.begin();
      const auto weights = std::count_if(begin + static_cast<std::ptrdiff_t>(range.begin),
                                         begin + static_cast<std::ptrdiff_t>(range.end), has_weights);
      CHECK(weights == 1);
    }
    CHECK(finest_partition(network, count / 3).num_stages() == static_cast<std::size_t>(count / 3));
    CHECK_THROWS_AS(finest_partition(network, count + 1), Error);
  }
}

TEST_CASE(
    "PipeDream at 107 stages and 8 microbatches stashes 6.006 copies of ResNet-50 for CIFAR, 5.545 for ImageNet") {
  // schedules-asynchronous 10.2: A = sum |w_i| (2 (P - i) + 1) / N / sum |w_i|, stages numbered from 1.
  for (const auto& [name, expected] : {std::pair{"resnet-50-cifar", 6.006}, std::pair{"resnet-50", 5.545}}) {
    const Network network = load_network(name);
    const StageCosts costs = untimed_costs(network, finest_partition(network, 107), {1, 1}, {});
    double weighted = 0;
    double all = 0;
    for (std::size_t stage = 0; stage < 107; ++stage) {
      const auto bytes = static_cast<double>(costs.memory[stage].weight_bytes);
      weighted += bytes * (2.0 * static_cast<double>(107 - stage - 1) + 1) / 8;
      all += bytes;
    }
    CHECK(weighted / all == doctest::Approx(expected).epsilon(1e-4));
  }
}

TEST_CASE("an opened residual block is its layers and an addition, and costs the same") {
  const Network closed = load_network("gpt-tiny");
  const Network open = opened(closed);
  CHECK(open.layers.size() == closed.layers.size() + 2 * 8);
  CHECK(parameter_count(open) == parameter_count(closed));
  CHECK(model_flops(open, {2, 64}) == model_flops(closed, {2, 64}));
  CHECK(network_from_json(network_to_json(open), "again.json") == open);
  const StageMemory whole = stage_memory(open.layers, {0, open.layers.size()}, {2, 64}, {});
  CHECK(whole == stage_memory(closed.layers, {0, closed.layers.size()}, {2, 64}, {}));
  CHECK(layers_with_weights(open) == 1 + 4 * 4 + 2);
}

TEST_CASE("a message carries every value that is read after the cut") {
  const Network network = network_of(R"({"kind": "pixels", "height": 8, "columns": 8, "channels": 1},
    {"kind": "convolution", "name": "a", "filters": 2, "kernel": 3},
    {"kind": "convolution", "name": "b", "filters": 2, "kernel": 3, "stride": 2},
    {"kind": "convolution", "name": "c", "filters": 2, "kernel": 1},
    {"kind": "average_pool", "input": "a", "kernel": 2, "name": "d"}, {"kind": "add", "from": "c"},
    {"kind": "classifier"})");
  const auto memory = [&](std::size_t begin, std::size_t end) {
    return stage_memory(network.layers, {begin, end}, {1, 1}, {});
  };
  constexpr std::int64_t kLarge = 8 * 8 * 2 * 4;
  constexpr std::int64_t kSmall = 4 * 4 * 2 * 4;
  CHECK(memory(0, 2).output_bytes == kLarge);
  CHECK(memory(2, 3).input_bytes == kLarge);
  CHECK(memory(2, 3).output_bytes == kLarge + kSmall);  // passes a on beside b
  CHECK(memory(3, 4).input_bytes == kLarge + kSmall);
  CHECK(memory(3, 4).input_last_use == LastUse::kForward);  // keeps a copy of b instead of both
  CHECK(memory(4, 5).output_bytes == 2 * kSmall);
  CHECK(memory(5, 7).input_grad_bytes == 2 * kSmall);
}

TEST_CASE("what a layer reads must stand before it, and what it makes must be read") {
  CHECK(error_message([] {
          network_of(R"({"kind": "linear", "outputs": 4, "name": "a"}, {"kind": "add", "from": "b"})");
        }).find("expected the name of a layer before this one, found 'b'") != std::string::npos);
  CHECK(error_message([] {
          network_of(R"({"kind": "linear", "outputs": 4, "name": "a"}, {"kind": "linear", "outputs": 4, "name": "b"},
                  {"kind": "linear", "outputs": 4, "input": "a"})");
        }) == "n.json: layer 'b': nobody reads its output");
  CHECK(error_message([] {
          network_of(R"({"kind": "linear", "outputs": 6, "name": "a"}, {"kind": "linear", "width": 6, "outputs": 4},
                  {"kind": "add", "from": "a"})");
        }).find("adds width") != std::string::npos);
}

TEST_SUITE_END();
