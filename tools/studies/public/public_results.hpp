#pragma once

#include <map>
#include <string>
#include <vector>

#include "tools/measured_steps/stage_times.hpp"

namespace plumb {

/// What was predicted of the public measurements, and what could not be.
struct PublicResults {
  std::vector<MeasuredJob> jobs;
  std::vector<double> predicted_s;         ///< by job
  std::vector<double> left_out_s;          ///< by job, with rates that no row of its group has fitted
  std::vector<StagePassOfJob> passes;      ///< measured stages
  std::vector<double> predicted_passes_s;  ///< by pass
  std::vector<double> left_out_passes_s;   ///< by pass, as above
  /// By file, then reason: rows that are not predicted.
  std::map<std::string, std::map<std::string, int>> refused;
};

/// The rows that are left out of a fit together: those of a file, single node apart from several in vTrain's, which ran
/// on other machines.
std::string public_group(const MeasuredStep& row);

}  // namespace plumb
