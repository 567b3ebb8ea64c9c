#pragma once

#include <map>
#include <string>
#include <vector>

#include "tools/measured_steps/measured_job.hpp"
#include "tools/reports/plot.hpp"

namespace plumb {

/// What was predicted of the public measurements, and what could not be.
struct PublicResults {
  std::vector<MeasuredJob> jobs;
  std::vector<double> predicted_s;  ///< by job
  /// By file, then reason: rows that are not predicted.
  std::map<std::string, std::map<std::string, int>> refused;
};

/// "+1.5 %".
std::string signed_percent(double share);
/// A row of a table in Markdown.
std::string markdown_row(const std::vector<std::string>& cells);

/// The data set that a row is scored with: its file, single node apart from several in vTrain's, and pp=1 apart from
/// pp>1.
std::string public_group(const MeasuredStep& row);

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
