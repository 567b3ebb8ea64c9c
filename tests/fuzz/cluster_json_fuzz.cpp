#include "models/cluster/cluster_io.hpp"
#include "tests/fuzz/promise.hpp"

/// Any text is a cluster, which comes back as it was, or is refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  return testing::read_or_refuse(
      [&] { return cluster_from_json(testing::text_of(data, size), "fuzz.json"); },
      [](const Cluster& cluster) {
        const Cluster again = cluster_from_json(cluster_to_json(cluster), "again.json");
        testing::promise(again.name == cluster.name && again.source == cluster.source, "the same words");
        testing::promise(again.devices == cluster.devices, "the same devices");
        testing::promise(again.intra_node == cluster.intra_node && again.inter_node == cluster.inter_node,
                         "the same networks");
        testing::promise(again.shared_links == cluster.shared_links, "the same shared links");
        testing::promise(again.runtime == cluster.runtime, "the same runtime");
      });
}
