#include "models/import/load_network.hpp"

#include <string>

#include "models/graphs/layer_chain.hpp"
#include "models/ground/error.hpp"
#include "models/ground/presets.hpp"
#include "models/ground/text_file.hpp"
#include "models/import/model_config.hpp"
#include "models/import/published_network.hpp"
#include "models/launches/read_launch.hpp"
#include "models/network/network_io.hpp"

namespace plumb {

namespace {

/// The network that the job of a launch file trains.
Network launched_network(std::string_view path) {
  LaunchJob job = read_launch(read_text_file(path, kLaunchFile), std::string(path));
  if (!job.network) throw Error(std::string(path) + ": says nothing of the network, expected one that does");
  return *std::move(job.network);
}

}  // namespace

Network load_network(std::string_view name_or_path) {
  if (is_launch_path(name_or_path)) return launched_network(name_or_path);
  if (is_document_path(name_or_path)) {
    if (const auto published = load_published(name_or_path)) return network_of(published->layers);
    const std::string text = read_text_file(name_or_path, kNetworkFile);
    if (is_model_config(text)) return network_from_model_config(text, name_or_path);
    return network_from_json(text, name_or_path);
  }
  for (const Preset& preset : network_presets()) {
    if (preset.name == name_or_path) return network_from_json(preset.json, std::string(preset.name) + ".json");
  }
  throw_unknown("network", name_or_path, builtin_networks());
}

}  // namespace plumb
