#include "models/jobs/vocabulary_shares.hpp"

#include <doctest/doctest.h>

#include "models/cluster/cluster_io.hpp"
#include "models/ground/error.hpp"
#include "models/import/load_network.hpp"
#include "models/stages/network_costs.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb {
namespace {

/// Two devices: stages of layers 0 and 1, of the head 2 and 3, of the embedding 4 and 5, of the loss 6.
VocabularyStages two_shares() {
  return {.input = {StageId{4}, StageId{5}}, .output = {StageId{2}, StageId{3}}, .loss = StageId{6}};
}

}  // namespace

TEST_CASE("shares of the vocabulary hold what the whole embedding and the whole head hold") {
  const Network network = load_network("llama3-8b");
  const Cluster cluster = load_cluster("a100");
  const Partition layers = equal_partition(without_vocabulary(network), 2);
  const JobCosts divided = vocabulary_job_costs(network, layers, {cluster, 2}, {}, two_shares());
  const JobCosts plain = job_costs(network, equal_partition(network, 2), {cluster, 2}, {});
  REQUIRE(divided.costs.times.size() == 7);
  const auto weights = [](const StageCosts& costs) {
    std::int64_t sum = 0;
    for (const StageMemory& memory : costs.memory) sum += memory.weight_bytes;
    return sum;
  };
  CHECK(weights(divided.costs) == weights(plain.costs));
  CHECK(divided.costs.memory[2] == divided.costs.memory[3]);
  CHECK(divided.costs.memory[6] == StageMemory{});
  CHECK(divided.costs.times[6] == StageTimes{});
  CHECK(divided.costs.work.model_flops_per_microbatch == doctest::Approx(plain.costs.work.model_flops_per_microbatch));
  CHECK(divided.updates.size() == 7);
}

TEST_CASE("the head's input goes to every share and its gradient comes back") {
  const Network network = load_network("llama3-8b");
  const Cluster cluster = load_cluster("a100");
  const Partition layers = equal_partition(without_vocabulary(network), 2);
  const StageCosts costs = vocabulary_job_costs(network, layers, {cluster, 2}, {}, two_shares()).costs;
  const std::int64_t values = 8192 * 4096 * 2;
  CHECK(network.sequence == 8192);
  CHECK(costs.memory[1].output_bytes == values);
  CHECK(costs.memory[2].input_bytes == values);
  CHECK(costs.memory[2].input_grad_bytes == values);
  CHECK(costs.memory[4].output_bytes == values);
  CHECK(costs.memory[0].input_grad_bytes == values);
}

TEST_CASE("shares that are computed at once take the time of their collectives as well") {
  const Network network = load_network("llama3-8b");
  const Cluster cluster = load_cluster("a100");
  const Partition layers = equal_partition(without_vocabulary(network), 2);
  VocabularyStages stages = two_shares();
  const JobCosts apart = vocabulary_job_costs(network, layers, {cluster, 2}, {}, stages);
  stages.at_once = true;
  const JobCosts at_once = vocabulary_job_costs(network, layers, {cluster, 2}, {}, stages);
  const DeviceGroup both = device_group(at_once.pipeline, 2, 1);
  const double values = 8192.0 * 4096 * 2;
  const double forward = apart.rates.collective_s(CollectiveOp::kBroadcast, both, values) +
                         3 * apart.rates.collective_s(CollectiveOp::kAllReduce, both, 4 * 8192.0);
  const double backward = apart.rates.collective_s(CollectiveOp::kAllReduce, both, values);
  const StageTimes& head = at_once.costs.times[2];
  CHECK(static_cast<double>(head.f - apart.costs.times[2].f) == doctest::Approx(forward * 1e9).epsilon(1e-5));
  CHECK(static_cast<double>(head.b - apart.costs.times[2].b) == doctest::Approx(backward * 1e9).epsilon(1e-5));
  CHECK(head.b_comm.shown - apart.costs.times[2].b_comm.shown == head.b - apart.costs.times[2].b);
  CHECK(at_once.costs.times[0] == apart.costs.times[0]);
}

TEST_CASE("parts of microbatches cost every stage what its place in the chain does, and the loss nothing") {
  const Network network = load_network("llama3-8b");
  const Partition layers = equal_partition(without_vocabulary(network), 2);
  StageCosts chain;
  for (Ticks f = 1; f <= 4; ++f) chain.times.push_back({.f = f});  // embedding, two stages of layers, head
  chain.part = [](StageId stage, const Part&, const StageTimes& times) {
    StageTimes of_part = times;
    of_part.f = 10 * of_part.f + static_cast<Ticks>(index(stage));
    return PartCosts{of_part, {}};
  };
  chain.tied = {{StageId{0}, StageId{3}, 8}};
  const StageCosts costs = dealt_out(chain, two_shares(), network, {1, 16});
  REQUIRE(costs.times.size() == 7);
  const std::vector<Ticks> whole{2, 3, 4, 4, 1, 1, 0};
  const std::vector<Ticks> parts{21, 32, 43, 43, 10, 10, 0};
  for (std::size_t stage = 0; stage < whole.size(); ++stage) {
    CAPTURE(stage);
    CHECK(costs.times[stage].f == whole[stage]);
    CHECK(costs.part(StageId{static_cast<std::int32_t>(stage)}, {}, costs.times[stage]).times.f == parts[stage]);
  }
  CHECK(costs.tied == std::vector<TiedWeight>{{StageId{4}, StageId{2}, 8}, {StageId{5}, StageId{3}, 8}});
  CHECK(around_layers(layers).bounds ==
        std::vector<std::size_t>{0, 1, 1 + layers.bounds[1], 1 + layers.bounds[2], 2 + layers.bounds[2]});
}

TEST_CASE("rows of a vocabulary that do not divide are rounded up, and rows of positions stay with the first layers") {
  Network network = load_network("gpt2-medium");
  const std::int64_t rows = network.layers.front().vocabulary;
  REQUIRE(network.layers.front().positions == 1024);
  for (const std::int64_t shares : {1, 2, 3, 4}) {
    const Network share = with_vocabulary_share(network, static_cast<std::size_t>(shares));
    CHECK(share.layers.front().vocabulary == (rows + shares - 1) / shares);
    CHECK(share.layers.back().vocabulary * shares >= rows);
    CHECK((share.layers.back().vocabulary - 1) * shares < rows);
  }
  const Network share = with_vocabulary_share(network, 2);
  StageCosts chain;
  chain.times.resize(4);
  chain.memory.resize(4);
  const std::int64_t all = share.layers.front().vocabulary + 1024;
  chain.memory[0] = {.weight_bytes = 2 * all, .gradient_bytes = 4 * all, .optimizer_bytes = 12 * all};
  const StageCosts costs = dealt_out(chain, two_shares(), network, {1, 16});
  CHECK(costs.memory[4].weight_bytes == 2 * share.layers.front().vocabulary);
  CHECK(costs.memory[4].gradient_bytes == 4 * share.layers.front().vocabulary);
  CHECK(costs.memory[5].optimizer_bytes == 12 * share.layers.front().vocabulary);
  CHECK(costs.memory[0].weight_bytes == 2 * 1024);
  CHECK(costs.memory[0].gradient_bytes == 4 * 1024);
  CHECK(costs.memory[0].optimizer_bytes == 12 * 1024);
  CHECK(costs.memory[1] == StageMemory{});
}

TEST_CASE("collectives of the head go over the devices of all places, which may be in several nodes") {
  const Network network = load_network("gpt2-medium");
  const Partition layers = equal_partition(without_vocabulary(network), 2);
  VocabularyStages stages = two_shares();
  const auto added = [&](const char* machine) {
    const Cluster cluster = load_cluster(machine);
    stages.at_once = false;
    const JobCosts apart = vocabulary_job_costs(network, layers, {cluster, 2}, {}, stages);
    stages.at_once = true;
    return vocabulary_job_costs(network, layers, {cluster, 2}, {}, stages).costs.times[2].f - apart.costs.times[2].f;
  };
  CHECK(2 * added("a100-2x1") > 3 * added("a100-1x2"));
}

TEST_CASE("a vocabulary is divided only of a network with embedding and head") {
  const Network network = load_network("resnet-50");
  CHECK_THROWS_WITH_AS(without_vocabulary(network),
                       "network 'resnet-50': a vocabulary is divided over all devices; expected an embedding first, a "
                       "head last, and layers between",
                       Error);
}

}  // namespace plumb

TEST_SUITE_END();
