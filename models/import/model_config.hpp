#pragma once

#include <string_view>

#include "models/network/network.hpp"

namespace plumb {

/// Whether `text` looks like a Hugging Face `config.json`: an object with "model_type" that is no document of ours.
bool is_model_config(std::string_view text);

/// The network of a Hugging Face `config.json` of type gpt2, llama, mistral, gemma, qwen2, qwen3, mixtral, qwen2_moe,
/// qwen3_moe, deepseek_v2 or deepseek_v3; a missing key has the default of the model's class. `sequence` is the model's
/// limit, 8192 at most.
///
/// What our layers cannot express is left out and named in `source` (gates of shared experts, sliding windows,
/// layers that predict further tokens). Throws `Error` with line, column and path for missing or impossible sizes and
/// for other types (with the nearest one).
Network network_from_model_config(std::string_view text, std::string_view file_name);

}  // namespace plumb
