#pragma once

#include <span>
#include <string>

#include "models/ground/named_option.hpp"

namespace plumb {

/// `[{"name": "every", "values": "S", "default": "600", "meaning": "seconds of work between checkpoints"}]`; an option
/// with a remark has it as "remark".
std::string options_json(std::span<const NamedOption> table);

}  // namespace plumb
