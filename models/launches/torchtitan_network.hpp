#pragma once

#include <cstdint>
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

/// Returns the tokens of a sample.
std::int64_t titan_sequence(const Settings& settings);

/// Returns the network that a configuration names; none: torchtitan's tables of Llama 3, Qwen3 and DeepSeek-V3 do not
/// have it.
std::optional<Network> titan_network(const Settings& settings, const LaunchJob& job);

/// Returns the names of `network`, with whatever number of tokens; none: the tables do not have it.
std::optional<TitanModel> titan_model_of(const Network& network);

/// Sets what torchtitan's configuration `config` of its module `module` says ("--module llama3 --config llama3_8b"),
/// where `settings` say nothing else. Throws `Error` with `place` for one that is not known here.
void add_titan_configuration(const std::string& module, const std::string& config, const std::string& place,
                             Settings& settings);

/// Returns the whole name of a setting of torchtitan that is called by its last part; `name` itself where no such
/// setting is known.
std::string titan_setting_called(const std::string& name);

/// Returns whether a setting changes neither time nor memory.
bool is_harmless_in_titan(const std::string& name);

}  // namespace plumb
