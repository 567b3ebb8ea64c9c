#include "models/stages/whole_layers.hpp"

#include <doctest/doctest.h>

#include "models/import/load_network.hpp"

TEST_SUITE_BEGIN("models");

using namespace plumb;

TEST_CASE("transformers are cut between embedding, whole decoder layers, and norm with head") {
  const Network network = load_network("llama3-70b");
  const std::vector<std::size_t> bounds = whole_layers(network);
  REQUIRE(bounds.size() == 80 + 2 + 1);
  CHECK(bounds[0] == 0);
  CHECK(bounds[1] == 1);
  CHECK(bounds[2] == 3);
  CHECK(bounds[81] == 161);
  CHECK(bounds[82] == network.layers.size());
}

TEST_CASE("layers with norms behind their blocks, experts and latent attention are whole layers, too") {
  CHECK(whole_layers(load_network("bert-48")).size() == 48 + 2 + 1);
  CHECK(whole_layers(load_network("mixtral-8x7b")).size() == 32 + 2 + 1);
  CHECK(whole_layers(load_network("deepseek-v3")).size() == 61 + 2 + 1);
}

TEST_CASE("with Mamba layers every block is a layer; networks without attention are cut anywhere") {
  CHECK(whole_layers(load_network("nemotron-3-nano")).size() == 52 + 2 + 1);
  const Network image = load_network("vgg-16");
  CHECK(whole_layers(image).size() == image.layers.size() + 1);
  CHECK(layer_counts(image, Partition{{0, image.layers.size()}}).empty());
}

TEST_CASE("the last of two decoder layers has as many blocks as the first, and blocks behind it are no part of it") {
  const auto block = [](LayerKind kind) {
    return LayerSpec{
        .kind = LayerKind::kResidual, .name = "b", .width = 4, .body = {{.kind = kind, .name = "i", .width = 4}}};
  };
  const LayerSpec attention = block(LayerKind::kAttention);
  const LayerSpec mlp = block(LayerKind::kMlp);
  const LayerSpec end{.kind = LayerKind::kHead, .name = "h", .width = 4};
  Network network;
  network.layers = {{.kind = LayerKind::kEmbedding, .name = "e"}, attention, mlp, attention, mlp, mlp, end};
  using Bounds = std::vector<std::size_t>;
  CHECK(whole_layers(network) == Bounds{0, 1, 3, 5, 7});
  network.layers = {
      {.kind = LayerKind::kEmbedding, .name = "e"}, attention, mlp, mlp, end};  // one: up to the last block
  CHECK(whole_layers(network) == Bounds{0, 1, 4, 5});
  network.layers = {attention, mlp, attention};  // fewer are left than the one before has
  CHECK(whole_layers(network) == Bounds{0, 2, 3});
  CHECK(decoder_count(network) == 2);
  network.layers = {{.kind = LayerKind::kEmbedding, .name = "e"}, attention, mlp, attention, mlp, end};
  CHECK(without_first_decoders(network, 1).layers.size() == 4);
}

TEST_CASE("stages are counted in whole layers; one that begins inside a layer has no count") {
  const Network network = load_network("gpt2-small");  // embedding, 12 x 2 blocks, norm, head
  const auto counts = layer_counts(network, Partition{{0, 1, 7, 25, 27}});
  REQUIRE(counts.size() == 4);
  CHECK(counts[0] == LayerCounts{.embedding = true});
  CHECK(counts[1] == LayerCounts{.decoders = 3});
  CHECK(counts[2] == LayerCounts{.decoders = 9});
  CHECK(counts[3] == LayerCounts{.head = true});
  CHECK(layer_counts(network, Partition{{0, 4, 27}}).empty());
}

TEST_SUITE_END();
