#pragma once

#include <string>

#include "models/costs/stage_costs.hpp"
#include "sim/prediction/memory_fit.hpp"

namespace plumb {

/// The value of `--memory-limit`, in bytes or in stashes or abstract units. Throws `Error` when `text` is neither empty
/// nor a number that is at least 0.
MemoryLimit parse_memory_limit(const std::string& text, bool in_bytes);

/// The same, in what `costs` count memory in. Throws `Error` when `text` is neither empty nor a number.
MemoryLimit parse_memory_limit(const std::string& text, const StageCosts& costs);

}  // namespace plumb
