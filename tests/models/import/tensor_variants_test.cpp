#include "models/import/tensor_variants.hpp"

#include <string>

#include <doctest/doctest.h>

TEST_SUITE_BEGIN("models");

namespace plumb {

TEST_CASE("a layer of Piper's takes a third of its time forward, and hands on its largest edge") {
  VariantGraph graph;
  graph.name = "g";
  graph.id = {5, 7, 9};
  graph.label = {"a", "b", "c"};
  const auto plain = [](double seconds, double parameters, double copy) {
    TensorVariant one;
    one.seconds = seconds;
    one.parameter_bytes = parameters;
    one.bytes_per_copy = copy;
    return std::vector<TensorVariant>{one};
  };
  graph.variants = {plain(10e-9, 100.4, 7.6), plain(20e-9, 200, 8), plain(31e-9, 300, 9)};
  graph.before = {{}, {{0, 40}}, {{0, 50.6}, {1, 30}}};
  graph.after = {{{2, 50.6}, {1, 40}}, {{2, 30}}, {}};
  const LayerGraph layers = layers_of(graph);
  CHECK(layers.nodes[0].forward_ns == 3);
  CHECK(layers.nodes[0].backward_ns == 7);
  CHECK(layers.nodes[1].forward_ns == 6);
  CHECK(layers.nodes[1].backward_ns == 14);
  CHECK(layers.nodes[2].forward_ns == 10);
  CHECK(layers.nodes[2].backward_ns == 21);
  CHECK(layers.nodes[0].parameter_bytes == 100);
  CHECK(layers.nodes[0].stash_bytes == 8);
  CHECK(layers.nodes[0].output_bytes == 51);
  CHECK(layers.nodes[1].output_bytes == 30);
  CHECK(layers.nodes[2].output_bytes == 0);
  CHECK(layers.nodes[1].id == "7");
  CHECK(layers.nodes[1].name == "b");
  CHECK(layers.edges == std::vector<LayerEdge>{{0, 1, 40}, {0, 2, 51}, {1, 2, 30}});
  CHECK(layers.samples == 1);
}

}  // namespace plumb

TEST_SUITE_END();
