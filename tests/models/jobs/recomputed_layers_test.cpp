#include "models/jobs/recomputed_layers.hpp"

#include <numeric>
#include <string>

#include <doctest/doctest.h>

#include "models/cluster/cluster_io.hpp"
#include "models/ground/error.hpp"
#include "models/import/load_network.hpp"
#include "models/jobs/job_costs.hpp"

TEST_SUITE_BEGIN("models");

namespace {

using namespace plumb;

/// Embedding, twelve transformer layers of two residual ones each, norm and head, on four stages that begin with whole
/// layers.
struct FourStages {
  Network network = load_network("gpt2-small");
  Cluster cluster = load_cluster("a100");
  Partition partition{{0, 7, 13, 19, network.layers.size()}};

  StageCosts costs(const Parallelism& job, const std::vector<std::int32_t>& counts = {}) const {
    return job_costs(network, partition, {cluster, 4}, job, {.recomputed = counts}).costs;
  }
};

std::int64_t stash_of(const StageMemory& memory) {
  std::int64_t bytes = 0;
  for (const StashTensor& tensor : memory.stash) {
    if (tensor.made_by == StashTensor::MadeBy::kForward) bytes += tensor.bytes;
  }
  return bytes;
}

}  // namespace

TEST_CASE("attention and the MLP behind it run again together, other layers not at all") {
  const FourStages four;
  const std::span<const LayerSpec> first(four.network.layers.data(), 7);  // the embedding and three layers
  CHECK(layers_to_recompute(first) == 3);
  CHECK(leading_layers(first, 0) == 0);
  CHECK(leading_layers(first, 1) == 3);
  CHECK(leading_layers(first, 2) == 5);
  CHECK(leading_layers(first, 3) == 7);
  const std::span<const LayerSpec> halves(four.network.layers.data() + 2, 4);  // MLP, attention, MLP, attention
  CHECK(layers_to_recompute(halves) == 3);
  CHECK(leading_layers(halves, 1) == 1);
  CHECK(leading_layers(halves, 2) == 3);
}

TEST_CASE("no layers run again cost as without recompute, all of them as full recompute") {
  const FourStages four;
  const StageCosts none = four.costs({});
  const StageCosts full = four.costs({.recompute = ActivationRecompute::kFull});
  const StageCosts zeros = four.costs({.recompute = ActivationRecompute::kFitted}, {0, 0, 0, 0});
  const StageCosts all = four.costs({.recompute = ActivationRecompute::kFitted}, {3, 3, 3, 3});
  CHECK(zeros.times == none.times);
  CHECK(zeros.memory == none.memory);
  CHECK(all.times == full.times);
  CHECK(all.memory == full.memory);
}

TEST_CASE("every layer that runs again adds its forward to the backward and keeps its input only") {
  const FourStages four;
  const StageCosts none = four.costs({});
  const StageCosts full = four.costs({.recompute = ActivationRecompute::kFull});
  for (const std::int32_t count : {1, 2}) {
    const StageCosts some = four.costs({.recompute = ActivationRecompute::kFitted}, {count, count, count, count});
    for (std::size_t s = 1; s < 3; ++s) {  // stages of transformer layers only
      CAPTURE(s);
      const Ticks forward = none.times[s].f / 3;
      CHECK(some.times[s].f == none.times[s].f);
      CHECK(some.times[s].w == none.times[s].w);
      CHECK(std::abs(some.times[s].b - none.times[s].b - count * forward) <= 4);
      const std::int64_t spared = (stash_of(none.memory[s]) - stash_of(full.memory[s])) / 3;
      CHECK(stash_of(some.memory[s]) == stash_of(none.memory[s]) - count * spared);
    }
  }
  // What no counts say is the least of both, which bounds rely on.
  const StageCosts least = four.costs({.recompute = ActivationRecompute::kFitted});
  for (Ticks StageTimes::*time : {&StageTimes::f, &StageTimes::b, &StageTimes::i, &StageTimes::w, &StageTimes::u}) {
    CHECK(least.times[1].*time == none.times[1].*time);
  }
  CHECK(stash_of(least.memory[1]) == stash_of(full.memory[1]));
}

TEST_CASE("a job may run the same number of layers of every stage again") {
  const FourStages four;
  const Parallelism two{.recompute = ActivationRecompute::kFull, .recompute_layers = 2};
  const StageCosts some = four.costs({.recompute = ActivationRecompute::kFitted}, {2, 2, 2, 2});
  CHECK(four.costs(two).times == some.times);
  CHECK(four.costs(two).memory == some.memory);
  const Parallelism many{.recompute = ActivationRecompute::kFull, .recompute_layers = 9};
  CHECK(four.costs(many).times == four.costs({.recompute = ActivationRecompute::kFull}).times);
}

TEST_CASE("counts that the stages do not have are refused") {
  const FourStages four;
  const Parallelism fitted{.recompute = ActivationRecompute::kFitted};
  CHECK_THROWS_WITH_AS(four.costs(fitted, {1, 1}), "recomputed layers: 2 counts, expected one for each of the 4 stages",
                       Error);
  CHECK_THROWS_WITH_AS(four.costs(fitted, {1, 4, 0, 0}), "recomputed layers: 4 of stage 1, expected at most its 3",
                       Error);
  CHECK_THROWS_WITH_AS(four.costs({.recompute = ActivationRecompute::kFull}, {1, 1, 1, 1}),
                       "recomputed layers: all run again already, expected no counts by stage", Error);
}

TEST_CASE("so many of the first layers are all of them where there are no more") {
  const LayerSpec norm{.kind = LayerKind::kLayerNorm, .name = "n", .width = 4};
  const LayerSpec mlp{.kind = LayerKind::kMlp, .name = "m", .width = 4, .hidden = 8};
  const LayerSpec attention{.kind = LayerKind::kAttention, .name = "a", .width = 4, .heads = 2};
  const LayerSpec first{.kind = LayerKind::kResidual, .name = "r", .width = 4, .body = {norm, attention}};
  const LayerSpec second{.kind = LayerKind::kResidual, .name = "s", .width = 4, .body = {norm, mlp}};
  const std::vector<LayerSpec> layers{norm, first, second, first, second};  // two layers of two blocks each
  CHECK(layers_to_recompute(layers) == 2);
  CHECK(leading_layers(layers, -1) == 0);
  CHECK(leading_layers(layers, 0) == 0);
  CHECK(leading_layers(layers, 1) == 3);
  CHECK(leading_layers(layers, 2) == 5);
  CHECK(leading_layers(layers, 9) == 5);
}

TEST_SUITE_END();
