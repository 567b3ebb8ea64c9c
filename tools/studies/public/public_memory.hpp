#pragma once

#include <string>

#include "tools/measured_steps/memory_scores.hpp"

namespace plumb {

/// Scores of predicted memory as a table for a terminal.
std::string memory_text(const MeasuredMemory& memory);
/// The same for results/public/README.md: by data set, by schedule, worst rows.
std::string memory_markdown(const MeasuredMemory& memory);
/// Every row, for programs.
std::string memory_csv(const MeasuredMemory& memory);

}  // namespace plumb
