#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/launches/launch.hpp"
#include "models/launches/settings.hpp"
#include "models/launches/shell_script.hpp"

namespace plumb {

/// What a launch file is read with.
struct LaunchContext {
  std::map<std::string, std::string> given{};  ///< variables of its environment, and settings that replace its own
  std::vector<std::string> arguments{};        ///< arguments that a script is called with
  ShellSource open{};                          ///< opens files that it names; empty: none is opened
};

/// Returns the settings of a launch script of Megatron-LM (or of what builds on it), of the log of a run of it, or of a
/// configuration of torchtitan (TOML), DeepSpeed (JSON), or NeMo, Megatron-Bridge, Primus and GPT-NeoX (YAML);
/// recognised by the ending of the name, and by its content. Nothing is run. Throws `Error` with the place of what
/// cannot be read, and for scripts that launch something else than the training of a language model.
LaunchSettings launch_settings(std::string_view text, const std::string& name, const LaunchContext& context = {});

/// Returns the job that they describe. Throws `Error` with the place of what is wrong or missing.
LaunchJob launch_job(LaunchSettings said);

/// `launch_job` of the `launch_settings`.
LaunchJob read_launch(std::string_view text, const std::string& name, const LaunchContext& context = {});

}  // namespace plumb
