#pragma once

#include <string>

#include "models/costs/stage_costs.hpp"
#include "tools/tables/memory_limit.hpp"

namespace plumb {

/// The value of `--memory-limit`. Throws `Error` when `text` is neither empty nor a number.
MemoryLimit parse_memory_limit(const std::string& text, const StageCosts& costs);

}  // namespace plumb
