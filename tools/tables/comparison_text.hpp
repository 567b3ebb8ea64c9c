#pragma once

#include <string>

#include "sim/comparison/compare.hpp"
#include "tools/tables/compared_names.hpp"

namespace plumb {

/// A comparison for a terminal: figures of both, what makes up the error, actions by kind, idle time by cause, memory
/// by class, the actions that differ most.
std::string comparison_text(const Comparison& comparison, const ComparedNames& names);

}  // namespace plumb
