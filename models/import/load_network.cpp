#include "models/import/load_network.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <utility>
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

/// Names of the same sizes, as `plain_name` has them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kOtherNetworks{{
    {"gpt2", "gpt2-small"},
    {"gpt3", "gpt3-175b"},
    {"llama3.18b", "llama3-8b"},
    {"llama3.170b", "llama3-70b"},
    {"llama3.370b", "llama3-70b"},
    {"llama3405b", "llama3.1-405b"},
    {"metallama38b", "llama3-8b"},
    {"metallama370b", "llama3-70b"},
    {"mixtral", "mixtral-8x7b"},
    {"mixtral8x7bv0.1", "mixtral-8x7b"},
}};

std::string_view preset_called(std::string_view plain) {
  for (const Preset& preset : network_presets()) {
    if (plain_name(preset.name) == plain) return preset.name;
  }
  for (const auto& [theirs, ours] : kOtherNetworks) {
    if (theirs == plain) return ours;
  }
  return {};
}

/// Returns the network that the job of a launch file trains.
Network launched_network(std::string_view path) {
  LaunchJob job = read_launch(read_text_file(path, kLaunchFile), std::string(path));
  if (!job.network) throw Error(std::string(path) + ": says nothing of the network, expected one that does");
  return *std::move(job.network);
}

/// Returns the built-in network whose name is most like `model`; empty where none is near.
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

std::string_view builtin_network_called(std::string_view name) {
  std::string plain = plain_name(name);
  if (const std::string_view preset = preset_called(plain); !preset.empty()) return preset;
  for (const std::string_view tuned : {"hf", "instruct", "chat", "base"}) {  // weights differ, sizes do not
    if (plain.ends_with(tuned)) plain.resize(plain.size() - tuned.size());
  }
  return preset_called(plain);
}

Network load_network(std::string_view name_or_path) {
  if (is_launch_path(name_or_path)) return launched_network(name_or_path);
  if (is_document_path(name_or_path)) {
    refuse_hub_id(name_or_path);
    if (const auto published = load_published(name_or_path)) return network_of(published->layers);
    const std::string text = read_text_file(name_or_path, kNetworkFile);
    if (is_model_config(text)) return network_from_model_config(text, name_or_path);
    return network_from_json(text, name_or_path);
  }
  const std::string_view called = builtin_network_called(name_or_path);
  for (const Preset& preset : network_presets()) {
    if (preset.name == called) return network_from_json(preset.json, std::string(preset.name) + ".json");
  }
  if (file_exists(name_or_path)) {
    throw Error(std::string(name_or_path) +
                ": is a file; expected a built-in network, or a file that ends in .json or " +
                ".txt, or as launch files do");
  }
  throw_unknown("network", dashed_name(name_or_path), builtin_networks());
}

}  // namespace plumb
