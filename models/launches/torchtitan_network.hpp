#pragma once

#include <optional>
#include <string>

#include "models/launches/launch.hpp"
#include "models/launches/settings.hpp"

namespace plumb {

/// The names that torchtitan has for a model and its size: `model.name` and `model.flavor`.
struct TitanModel {
  std::string name;
  std::string flavor;
};

/// Returns the network that a configuration names; none: torchtitan's tables of Llama 3, Qwen3 and DeepSeek-V3 do not
/// have it.
std::optional<Network> titan_network(const Settings& settings, const LaunchJob& job);

/// Returns the names of `network`, with whatever number of tokens; none: the tables do not have it.
std::optional<TitanModel> titan_model_of(const Network& network);

}  // namespace plumb
