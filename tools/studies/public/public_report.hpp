#pragma once

#include <string>

#include "tools/reports/plot.hpp"
#include "tools/studies/public/public_results.hpp"

namespace plumb {

/// Scores as a table for a terminal.
std::string public_text(const PublicResults& results);
/// results/public/README.md below its line "<!-- results -->": scores by data set and half, by schedule, worst rows,
/// rows that are not predicted.
std::string public_markdown(const PublicResults& results);
/// Every row, for programs.
std::string public_csv(const PublicResults& results);
/// Predicted over measured step time of all data sets.
Plot public_plot(const PublicResults& results);

}  // namespace plumb
