#pragma once

#include <string>

#include "sim/compare.hpp"

namespace plumb {

/// A comparison for a terminal: figures of both, actions by kind, idle time by cause, memory by class, the actions that
/// differ most. `first` and `second` head the two columns.
std::string comparison_text(const Comparison& comparison, const std::string& first, const std::string& second);

}  // namespace plumb
