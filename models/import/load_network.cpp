#include "models/import/load_network.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "models/graphs/layer_chain.hpp"
#include "models/ground/error.hpp"
#include "models/ground/plain_name.hpp"
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

/// The built-in network whose name is most like `model`; empty where none is near.
std::string nearest_preset(std::string_view model) {
  std::vector<std::string> names;
  for (const Preset& preset : network_presets()) names.push_back(plain_name(preset.name));
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const auto found = std::ranges::find(names, nearest_name(plain_name(model), candidates));
  if (found == names.end()) return {};
  return std::string(network_presets()[static_cast<std::size_t>(found - names.begin())].name);
}

/// Throws `Error` for an id of the Hugging Face Hub, "meta-llama/Llama-3.1-70B", where there is no such file.
void refuse_hub_id(std::string_view path) {
  const bool looks_so = std::ranges::count(path, '/') == 1 && path.front() != '.' && path.front() != '/' &&
                        !path.ends_with(".json") && !path.ends_with(".txt");
  if (!looks_so || file_exists(path)) return;
  const std::string nearest = nearest_preset(path.substr(path.find('/') + 1));
  throw Error("network '" + std::string(path) + "': nothing is downloaded and there is no such file; expected the " +
              "model's config.json on this disk, or a built-in network" +
              (nearest.empty() ? std::string() : ", of which '" + nearest + "' has the nearest name"));
}

}  // namespace

Network load_network(std::string_view name_or_path) {
  if (is_launch_path(name_or_path)) return launched_network(name_or_path);
  if (is_document_path(name_or_path)) {
    refuse_hub_id(name_or_path);
    if (const auto published = load_published(name_or_path)) return network_of(published->layers);
    const std::string text = read_text_file(name_or_path, kNetworkFile);
    if (is_model_config(text)) return network_from_model_config(text, name_or_path);
    return network_from_json(text, name_or_path);
  }
  const std::string plain = plain_name(name_or_path);
  for (const Preset& preset : network_presets()) {
    if (plain_name(preset.name) == plain) return network_from_json(preset.json, std::string(preset.name) + ".json");
  }
  throw_unknown("network", dashed_name(name_or_path), builtin_networks());
}

}  // namespace plumb
