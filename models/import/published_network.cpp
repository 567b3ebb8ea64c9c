#include "models/import/published_network.hpp"

#include <filesystem>
#include <string>

#include "models/ground/error.hpp"
#include "models/import/graph_text.hpp"

namespace plumb {
namespace {

/// "vgg16" of "profiles/vgg16/graph.txt" (every file is called so there), "bert-24" of "bert-24.txt".
std::string network_name(std::string_view file_name) {
  const std::filesystem::path path{file_name};
  std::string name = path.stem().string();
  if (name == "graph" && path.has_parent_path()) name = path.parent_path().filename().string();
  return name.empty() ? "network" : name;
}

}  // namespace

PublishedNetwork published_network(std::string_view text, std::string_view file_name) {
  const std::optional<PublishedFormat> format = published_format(text);
  if (!format) {
    throw Error(std::string(file_name) +
                ": expected a network as PipeDream, DAPPLE, dnn-partitioning or Piper publish them");
  }
  PublishedNetwork network;
  network.format = *format;
  if (*format == PublishedFormat::kPlacement) {
    network.placement = placement_graph_from_json(text, file_name);
    network.placement->name = network_name(file_name);
    network.layers = layers_of(*network.placement);
  } else if (*format == PublishedFormat::kTensorVariants) {
    network.variants = variant_graph_from_json(text, file_name);
    network.variants->name = network_name(file_name);
    network.layers = layers_of(*network.variants);
  } else {
    network.layers = layer_graph_from_text(text, file_name);
  }
  network.layers.name = network_name(file_name);
  network.layers.source = file_name;
  return network;
}

}  // namespace plumb
