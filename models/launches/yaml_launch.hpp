#pragma once

#include <string>
#include <string_view>

#include "models/launches/config_values.hpp"
#include "models/launches/launch.hpp"
#include "models/launches/shell_script.hpp"

namespace plumb {

/// Returns the settings of a configuration in YAML (NeMo, Megatron-Bridge, Primus with either back end, GPT-NeoX), with
/// those of the files that it is built on: what it "extends", and for Primus the files of its module and its model,
/// beside it or in the folder primus/configs above it. `is_named`: `name` is a path from the folder that `open` opens
/// files of. Throws `Error` for a configuration of another system.
LaunchSettings yaml_launch(std::string_view text, const std::string& name, const ShellSource& open,
                           ConfigVariables& variables, bool is_named = false);

}  // namespace plumb
