#include "models/sources/roofline.hpp"

#include <cmath>
#include <numeric>
#include <string>

#include <doctest/doctest.h>

#include "models/cluster/cluster_io.hpp"
#include "models/import/load_network.hpp"
#include "models/layers/describe_layer.hpp"
#include "models/stages/network_costs.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("models");

using namespace plumb;
using plumb::testing::error_message;

namespace {

Cluster one_device(double flops_per_s, double bytes_per_s) {
  Cluster cluster;
  cluster.name = "c";
  DeviceSpec device;
  device.flops_per_s = flops_per_s;
  device.memory_bytes_per_s = bytes_per_s;
  cluster.devices = {device};
  cluster.finish();
  return cluster;
}

/// One linear layer of width 4 to 8 without bias.
Network one_linear() {
  Network network;
  network.sequence = 2;
  LayerSpec& layer = network.layers.emplace_back();
  layer.kind = LayerKind::kLinear;
  layer.name = "l";
  layer.width = 4;
  layer.outputs = 8;
  layer.bias = false;
  return network;
}

}  // namespace

TEST_CASE("a linear layer takes its 2 x tokens x inputs x outputs operations when memory is fast") {
  // 2 tokens x 4 x 8 x 2 = 128 operations; at half of 2e9 per second 128 ns for each of F, I and W.
  Cluster cluster = one_device(2e9, 1e18);
  cluster.devices[0].compute_efficiency = 0.5;
  const StageCosts costs = roofline_costs(one_linear(), {{0, 1}}, cluster, {.shape = {1, 2}});
  REQUIRE(costs.times.size() == 1);
  CHECK(costs.times[0].f == 128);
  CHECK(costs.times[0].i == 128);
  CHECK(costs.times[0].w == 128);
  CHECK(costs.times[0].b == 256);
  CHECK(costs.times[0].r == 128);
  CHECK(costs.work.model_flops_per_microbatch == 384);
  CHECK(costs.work.peak_flops_per_s == 2e9);
  CHECK(costs.work.tokens_per_microbatch == 2);
  CHECK_FALSE(costs.comm.has_value());
}

TEST_CASE("a linear layer takes its bytes when memory is slow, and every pass its launch") {
  const LayerFacts facts = describe(one_linear().layers[0], {1, 2}, kMixedPrecision);
  Cluster cluster = one_device(1e18, 1e9);
  const StageCosts costs = roofline_costs(one_linear(), {{0, 1}}, cluster, {.shape = {1, 2}, .launch_ns = 7});
  CHECK(costs.times[0].f == facts.forward.bytes_moved + 7);
  CHECK(costs.times[0].i == facts.input_grad.bytes_moved + 7);
  CHECK(costs.times[0].w == facts.weight_grad.bytes_moved + 7);
  cluster.devices[0].memory_efficiency = 0.5;
  CHECK(roofline_costs(one_linear(), {{0, 1}}, cluster, {.shape = {1, 2}}).times[0].f == 2 * facts.forward.bytes_moved);
}

TEST_CASE("an update moves the gradient once, weight and optimizer state twice") {
  // 32 parameters x (4 + 2 x 2 + 2 x 12) bytes.
  const StageCosts costs = roofline_costs(one_linear(), {{0, 1}}, one_device(1e18, 1e9), {.shape = {1, 2}});
  CHECK(costs.times[0].u == 32 * 32);
  CHECK(costs.memory.at(0).weight_bytes == 64);
}

TEST_CASE("stages add up to the layers, and a residual to its body and an addition") {
  const Network network = load_network("llama-tiny");
  const Cluster cluster = load_cluster("a100");
  const RooflineOptions options{.shape = {2, 64}};
  const std::vector<std::int64_t> layers = roofline_layer_times(network, cluster, options);
  const Partition partition = equal_partition(network, 3);
  const StageCosts costs = roofline_costs(network, partition, cluster, options);
  for (std::size_t s = 0; s < partition.num_stages(); ++s) {
    const LayerRange range = partition.range(s);
    const std::int64_t sum = std::accumulate(layers.begin() + static_cast<std::ptrdiff_t>(range.begin),
                                             layers.begin() + static_cast<std::ptrdiff_t>(range.end), std::int64_t{0});
    CHECK(costs.times[s].f + costs.times[s].b == sum);
  }
  Network opened = network;
  opened.layers = network.layers[1].body;
  const std::vector<std::int64_t> inner = roofline_layer_times(opened, cluster, options);
  CHECK(layers[1] > std::accumulate(inner.begin(), inner.end(), std::int64_t{0}));
}

TEST_CASE("model FLOPs of GPT-3 are those of Narayanan et al. 2021") {
  // 72 B L s h^2 (1 + s/(6h) + V/(12 h L)) for B = 1, section 5.
  const Network network = load_network("gpt3-175b");
  const double h = 12288;
  const double s = 2048;
  const double layers = 96;
  const double expected = 72 * layers * s * h * h * (1 + s / (6 * h) + 50257 / (12 * h * layers));
  CHECK(std::abs(model_flops(network, {1, 2048}) / expected - 1) < 1e-12);
}

TEST_CASE("forward times of the zero-bubble runs are predicted within 7 % where the width is at least 4096") {
  // Qi et al. (arXiv 2401.10241), table 5: profiled T_F in ms of a middle stage, smallest m.
  struct Run {
    const char* network;
    std::int32_t stages;
    double forward_ms;
  };
  for (const Run& run : {Run{"zb-6.2b", 8, 29.718}, Run{"zb-14.6b", 16, 11.347}, Run{"zb-28.3b", 32, 10.419}}) {
    CAPTURE(run.network);
    const Network network = load_network(run.network);
    const StageCosts costs = roofline_costs(network, equal_partition(network, run.stages), load_cluster("zero-bubble"),
                                            {.shape = {network.samples, network.sequence}});
    CHECK(std::abs(static_cast<double>(costs.times[1].f) / (run.forward_ms * 1e6) - 1) < 0.07);
  }
}

TEST_CASE("a tied head is one weight in two stages, and no extra parameter") {
  const Network tied = load_network("gpt-tiny-tied");
  const Network untied = load_network("gpt-tiny");
  CHECK(parameter_count(untied) - parameter_count(tied) == 256 * 64);
  const RooflineOptions options{.shape = {2, 64}, .precision = {}};
  const StageCosts costs = roofline_costs(tied, equal_partition(tied, 4), load_cluster("a100"), options);
  REQUIRE(costs.tied.size() == 1);
  CHECK(costs.tied[0] == TiedWeight{StageId{0}, StageId{3}, 256 * 64 * 4});
  CHECK(roofline_costs(tied, equal_partition(tied, 1), load_cluster("a100"), options).tied.empty());
  CHECK(roofline_costs(untied, equal_partition(untied, 4), load_cluster("a100"), options).tied.empty());
}

TEST_CASE("devices of different rates and absurd microbatches are refused") {
  Cluster cluster = load_cluster("a100");
  cluster.devices[3].flops_per_s /= 2;
  const Network network = load_network("gpt-tiny");
  CHECK(error_message([&] {
          roofline_layer_times(network, cluster, {.shape = {1, 64}});
        }) == "cluster 'a100': devices have different rates, expected them to differ in speed only");
  CHECK(error_message([&] {
          roofline_costs(network, equal_partition(network, 2), load_cluster("a100"),
                         {.shape = {std::int64_t{1} << 60, 64}});
        }).find("is too large") != std::string::npos);
}

TEST_SUITE_END();
