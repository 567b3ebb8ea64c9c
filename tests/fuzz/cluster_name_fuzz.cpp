#include "models/cluster/cluster_io.hpp"
#include "models/ground/text_file.hpp"
#include "tests/fuzz/promise.hpp"

/// Any text names a built-in cluster, which has devices, or is refused. Names of files and of this machine are left
/// out: what they give is not in the text.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  const std::string_view name = testing::text_of(data, size);
  if (is_document_path(name) || name == "host" || name.starts_with("host-")) return 0;
  return testing::read_or_refuse([&] { return load_cluster(name); },
                                 [](const Cluster& cluster) {
                                   testing::promise(!cluster.devices.empty(), "at least one device");
                                   testing::promise(
                                       cluster.devices.size() % static_cast<std::size_t>(cluster.devices_per_node) == 0,
                                       "whole nodes");
                                 });
}
