#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/cluster/cluster.hpp"
#include "tools/measured_steps/measured_job.hpp"

namespace plumb {

/// The rows of several tables of measured steps.
struct MeasuredTable {
  std::vector<MeasuredJob> jobs;                              ///< rows whose step can be predicted
  std::vector<std::size_t> file;                              ///< by job: the place of its table
  std::vector<std::pair<MeasuredStep, std::string>> refused;  ///< the others, and why
  std::vector<MeasuredJob> memory_jobs;                       ///< rows that state memory, whose memory can be predicted
};

/// Reads the tables `files` with the recipes beside them. The rows ran on `cluster`, each in its own size, or, without
/// one, on the built-in cluster that their columns and recipes say. `gpu`: only rows with this in that column; empty:
/// all. Throws `Error`.
MeasuredTable measured_table(const std::vector<std::string>& files, const std::optional<Cluster>& cluster,
                             const std::string& gpu);

}  // namespace plumb
