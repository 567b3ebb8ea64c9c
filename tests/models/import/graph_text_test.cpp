#include <string>

#include <doctest/doctest.h>

#include "models/graphs/layer_chain.hpp"
#include "models/ground/text_file.hpp"
#include "models/import/graph_text.hpp"
#include "models/import/published_network.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/source_directory.hpp"

TEST_SUITE_BEGIN("models");

namespace {

using namespace plumb;
using plumb::testing::error_message;

PublishedNetwork published(const std::string& tail) {
  const std::string path = plumb::testing::in_source("results/planners/inputs/" + tail);
  return published_network(read_text_file(path), path);
}

std::string refused(const std::string& text) {
  return error_message([&] { layer_graph_from_text(text, "g.txt"); });
}

const std::string kFigures = "forward_compute_time=1.5, backward_compute_time=2, activation_size=8.0, parameter_size=4";

}  // namespace

TEST_CASE("a description may hold commas and equals signs, outputs may be a list, edges may begin with any blank") {
  const LayerGraph graph = layer_graph_from_text(
      "b -- LSTM(8, 4, bias=True) -- forward_compute_time=1.5, backward_compute_time=0, activation_size=[8.0; 4; 4.0],"
      " parameter_size=16.000 -- stage_id=3\r\n"
      "a -- Input0 -- forward_compute_time=636.0, backward_compute_time=0.00, activation_size=2, parameter_size=0 \n"
      "    a -- b\n \ta -- b",
      "g.txt");
  REQUIRE(graph.size() == 2);
  CHECK(graph.nodes[0].id == "a");
  CHECK(graph.nodes[0].loads_data);
  CHECK(graph.nodes[1].name == "LSTM(8, 4, bias=True)");
  CHECK(graph.nodes[1].forward_ns == 1'500'000);
  CHECK(graph.nodes[1].output_bytes == 16);
  CHECK(graph.nodes[1].parameter_bytes == 16);
  CHECK(graph.edges == std::vector<LayerEdge>{{0, 1, 2}});
  CHECK(totals(graph).forward_ns == 1'500'000);
}

TEST_CASE("bad graph texts are refused by line") {
  CHECK(refused("") == "g.txt: has no nodes, expected lines 'id -- description -- figures'");
  CHECK(refused("a - b\n") == "g.txt:1: expected 'id -- description -- figures'");
  CHECK(refused("a -- x -- " + kFigures + "\na -- y -- " + kFigures) ==
        "g.txt:2: node 'a' was described before, expected every id once");
  CHECK(refused("a -- x -- " + kFigures + "\n\ta -- b\n") == "g.txt:2: edge with unknown node 'b'");
  CHECK(refused("a -- x -- " + kFigures + "\n\ta\n") == "g.txt:2: expected an edge 'id -- id', found 'a'");
  CHECK(refused("a -- x -- forward_compute_time=nan").starts_with("g.txt:1: forward_compute_time: expected a number"));
  CHECK(refused("a -- x -- forward_compute_time=-1").starts_with("g.txt:1: forward_compute_time: expected a number"));
  CHECK(refused("a -- x -- forward_compute_time=1") == "g.txt:1: missing 'backward_compute_time='");
  CHECK(refused("a -- x -- " + kFigures + ", more=1") == "g.txt:1: unknown figure 'more'");
  CHECK(refused("a -- x -- " + kFigures + "\nb -- x -- " + kFigures + "\n\ta -- b\n\tb -- a\n") ==
        "g.txt: the graph has a cycle: 'a', 'b' read each other, expected edges that lead forward");
  CHECK(refused("a -- x -- " + kFigures + "\n\ta -- a\n") ==
        "g.txt: the graph has a cycle: 'a' reads itself, expected edges that lead forward");
}

TEST_CASE("PipeDream's profiles have the counts, times and parameters that are known of them") {
  struct Known {
    const char* name;
    std::size_t nodes, edges;
    double forward_ms, backward_ms, megabytes;
  };
  for (const Known& known :
       {Known{"alexnet", 23, 23, 44.8, 40.5, 244.4}, Known{"vgg16", 41, 41, 233.9, 438.6, 553.4},
        Known{"gnmt", 48, 58, 33.5, 55.9, 775.1}, Known{"densenet121", 429, 487, 177.4, 148.8, 31.9},
        Known{"inception_v3", 326, 362, 289.3, 399.8, 108.6}}) {
    CAPTURE(known.name);
    const LayerGraph graph = published("pipedream/" + std::string(known.name) + "/graph.txt").layers;
    CHECK(graph.name == known.name);
    CHECK(graph.size() == known.nodes);
    CHECK(graph.edges.size() == known.edges);
    const LayerTotals sum = totals(graph);
    CHECK(static_cast<double>(sum.forward_ns) / 1e6 ==
          doctest::Approx(known.forward_ms).epsilon(0.05 / known.forward_ms));
    CHECK(static_cast<double>(sum.backward_ns) / 1e6 ==
          doctest::Approx(known.backward_ms).epsilon(0.05 / known.backward_ms));
    CHECK(static_cast<double>(sum.parameter_bytes) / 1e6 ==
          doctest::Approx(known.megabytes).epsilon(0.05 / known.megabytes));
  }
}

TEST_CASE("compression of branches keeps times and parameters") {
  const LayerTotals all = totals(published("pipedream/inception_v3/graph.txt").layers);
  const LayerTotals some = totals(published("pipedream-compressed/inception_v3.txt").layers);
  CHECK(std::abs(all.forward_ns - some.forward_ns) <= 1000);
  CHECK(std::abs(all.backward_ns - some.backward_ns) <= 1000);
  CHECK(all.parameter_bytes == some.parameter_bytes);
}

TEST_CASE("a graph text that was read and written reads the same") {
  LayerGraph graph = published("dapple/amoeba-18-pbs-8.txt").layers;
  LayerGraph again = layer_graph_from_text(layer_graph_to_text(graph), graph.source);
  again.name = graph.name;
  CHECK(again == graph);
}

TEST_CASE("dnn-partitioning's graphs fold gradients into their layers") {
  const PublishedNetwork bert = published("dnn-partitioning/LayerGraphs/bert24_training.json");
  REQUIRE(bert.placement);
  CHECK(bert.placement->nodes.size() == 64);
  CHECK(bert.placement->edges.size() == 110);
  CHECK(bert.placement->accelerators == 6);
  CHECK(bert.layers.size() == 32);
  std::int64_t sum = 0;
  for (const PlacementNode& node : bert.placement->nodes) sum += node.accelerator_ns;
  CHECK(totals(bert.layers).forward_ns + totals(bert.layers).backward_ns == sum);
}

TEST_CASE("bad dnn-partitioning documents are refused with their place") {
  const auto wrong = [](const std::string& nodes, const std::string& edges) {
    const std::string text =
        R"({"maxSizePerFPGA": 1, "maxFPGAs": 1, "maxCPUs": 0, "nodes": [)" + nodes + R"(], "edges": [)" + edges + "]}";
    return error_message([&] { placement_graph_from_json(text, "p.json"); });
  };
  const std::string node = R"({"id": 1, "supportedOnFpga": 1, "cpuLatency": 1, "fpgaLatency": 1, "size": 0})";
  const std::string other = R"({"id": 2, "supportedOnFpga": 1, "cpuLatency": 1, "fpgaLatency": 1, "size": 0})";
  CHECK(wrong("", "").find("expected at least one node") != std::string::npos);
  CHECK(wrong(node + "," + node, "").find("node 1 was described before") != std::string::npos);
  CHECK(wrong(node, R"({"sourceId": 1, "destId": 3, "cost": 1})").find("there is no node 3") != std::string::npos);
  CHECK(wrong(node + "," + other, R"({"sourceId": 1, "destId": 2, "cost": 1}, {"sourceId": 2, "destId": 1, "cost": 1})")
            .find("the graph has a cycle") != std::string::npos);
  CHECK(wrong(R"({"id": 1, "supportedOnFpga": 1, "cpuLatency": -1, "fpgaLatency": 1, "size": 0})", "")
            .find("nodes[0].cpuLatency") != std::string::npos);
}

TEST_CASE("Piper's inputs keep every variant and the bytes of every edge") {
  const PublishedNetwork bert = published("piper/bert32a100.json");
  REQUIRE(bert.variants);
  CHECK(bert.variants->size() == 37);
  CHECK(bert.variants->microbatches == 1920);
  for (const auto& variants : bert.variants->variants) CHECK(variants.size() == 8);
  CHECK(published("piper/gnmt.json").variants->size() == 78);
  CHECK(published("piper/resnet.json").variants->size() == 177);
}

TEST_CASE("the chain of a graph counts every output once per cut that it crosses") {
  const LayerGraph graph =
      layer_graph_from_text("i -- Input -- " + kFigures + "\na -- a -- " + kFigures + "\nb -- b -- " + kFigures +
                                "\nc -- c -- " + kFigures + "\n\ti -- a\n\ta -- b\n\ta -- c\n\tb -- c\n",
                            "g.txt");
  const LayerChain chain = chain_of(graph);
  CHECK(chain.size() == 3);
  CHECK(chain.cut_bytes == std::vector<std::int64_t>{0, 8, 16, 0});
  CHECK(chain.total(0, 3) == 10'500'000);
  const Network network = network_of(graph);
  CHECK(network.layers.size() == 3);
  CHECK(network.layers[1].profiled.output_bytes == 16);
  CHECK(network.layers[1].profiled.i_ns + network.layers[1].profiled.w_ns == 2'000'000);
}
