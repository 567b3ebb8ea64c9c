#include "models/import/graph_text.hpp"
#include "models/import/published_network.hpp"
#include "tests/fuzz/promise.hpp"

/// Any text is a measured network (PipeDream's, dnn-partitioning's, Piper's or a trace) whose layers come back from the
/// graph text that they are written as, or it is refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  const auto read = [&] { return published_network(testing::text_of(data, size), "fuzz.txt"); };
  return testing::read_or_refuse(read, [](const PublishedNetwork& network) {
    const LayerGraph again = layer_graph_from_text(layer_graph_to_text(network.layers), "again.txt");
    testing::promise(again.nodes.size() == network.layers.nodes.size(), "all layers come back");
    testing::promise(again.edges == network.layers.edges, "all edges come back");
  });
}
