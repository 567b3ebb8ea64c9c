#pragma once

#include <string>
#include <string_view>

#include "models/network/network.hpp"

namespace plumb {

/// Returns whether `text` looks like a Hugging Face `config.json`: an object with "model_type" that is no document of
/// ours.
bool is_model_config(std::string_view text);

/// Returns the network of a Hugging Face `config.json` of a type that `model_families.hpp` knows; a missing key has the
/// default of the model's class. `sequence` is the model's limit, 8192 at most. Of a model of several kinds of data it
/// is the language model.
///
/// Activation, epsilon of norms, base and scaling of rotary positions and sliding windows go into the layers; `source`
/// names them. A value that our layers do not compute makes its layer `costs_only`. What has no layer of ours is left
/// out and named in `source`, too (dropout, `unpriced_parts`), and so are keys that are not known. Throws `Error` with
/// line, column and path for missing or impossible sizes, for other types, and for layers that have no price here.
Network network_from_model_config(std::string_view text, std::string_view file_name);

/// Returns the parts of a configuration's model that its network lacks though they would cost time and memory: "the
/// layers that predict further tokens". Empty: none, or the network is of another origin.
std::string unpriced_parts(const Network& network);

/// Returns the keys of its configuration that nobody read though what the network computes could depend on them, as
/// `source` names them: "logits_scaling, sliding_window". Empty: none, or the network is of another origin.
std::string unread_keys(const Network& network);

}  // namespace plumb
