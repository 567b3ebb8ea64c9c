#pragma once

#include <string>
#include <string_view>

#include "models/launches/config_values.hpp"
#include "models/launches/settings.hpp"

namespace plumb {

/// Returns the values of a configuration, by the keys that lead to them, joined by '.' ("training.seq_len"). Each
/// throws `Error` with the line for a text that is not of its format, and for one with more than 100,000 values or 64
/// levels.
Settings settings_of_toml(std::string_view text, const std::string& name);
Settings settings_of_json(std::string_view text, const std::string& name);
/// The same for YAML, where values refer to each other and to the environment. `ConfigValues::by_leaf` gives them by
/// their last keys alone ("tensor_model_parallel_size"), as the systems that are configured in YAML name each value
/// once; where several tables have one, that of a table called "model" counts. Values of tables with general keys
/// ("zero_optimization.stage", "bf16.enabled") keep both.
ConfigValues values_of_yaml(std::string_view text, const std::string& name);

}  // namespace plumb
