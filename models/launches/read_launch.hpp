#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/launches/launch.hpp"
#include "models/launches/shell_script.hpp"

namespace plumb {

/// What a launch file is read with.
struct LaunchContext {
  std::map<std::string, std::string> given{};  ///< variables of its environment, and settings that replace its own
  std::vector<std::string> arguments{};        ///< that a script is called with
  ShellSource open{};                          ///< opens files that it names; empty: none is opened
};

/// The job that a launch script of Megatron-LM (or of what builds on it), the log of a run of it, or a configuration
/// of torchtitan (TOML), DeepSpeed (JSON), or NeMo, Megatron-Bridge, Primus and GPT-NeoX (YAML) describes; recognised
/// by the ending of the name, and by its content. Nothing is run. Throws `Error` with the place of what is wrong.
LaunchJob read_launch(std::string_view text, const std::string& name, const LaunchContext& context = {});

}  // namespace plumb
