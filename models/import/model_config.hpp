#pragma once

#include <string>
#include <string_view>

#include "models/network/network.hpp"

namespace plumb {

/// Returns whether `text` looks like a Hugging Face `config.json`: an object with "model_type" that is no document of
/// ours.
bool is_model_config(std::string_view text);

/// Returns the network of a Hugging Face `config.json` of type gpt2, llama, mistral, gemma, qwen2, qwen3, mixtral,
/// qwen2_moe, qwen3_moe, deepseek_v2 or deepseek_v3; a missing key has the default of the model's class. `sequence` is
/// the model's limit, 8192 at most.
///
/// Activation, epsilon of norms, base and scaling of rotary positions and sliding windows go into the layers; `source`
/// names them. A value that our layers do not compute makes its layer `costs_only`. What has no layer of ours is left
/// out and named in `source`, too (dropout, gates of shared experts, layers that predict further tokens), and so are
/// keys that are not known. Throws `Error` with line, column and path for missing or impossible sizes and
/// for other types (with the nearest one).
Network network_from_model_config(std::string_view text, std::string_view file_name);

/// Returns the keys of its configuration that nobody read though what the network computes could depend on them, as
/// `source` names them: "logits_scaling, sliding_window". Empty: none, or the network is of another origin.
std::string unread_keys(const Network& network);

}  // namespace plumb
