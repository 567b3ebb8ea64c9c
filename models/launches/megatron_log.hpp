#pragma once

#include <string>
#include <string_view>

#include "models/launches/settings.hpp"

namespace plumb {

/// Returns whether `text` holds the block of arguments that Megatron-LM prints when it starts:
/// "  tensor_model_parallel_size ......................... 4".
bool is_megatron_log(std::string_view text);

/// Returns the settings of that block, the last one of several. Numbers of ranks and lines in front are skipped.
Settings settings_of_megatron_log(std::string_view text, const std::string& name);

}  // namespace plumb
