#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/traces/readers/rank_run.hpp"

namespace plumb {

/// A file of a traced run as it is on disk, packed by gzip or not.
struct TraceFile {
  std::string name;
  std::string bytes;
};

/// Returns whether a file holds a trace of one of the formats that `read_traced_run` reads.
bool is_traced_run(std::string_view bytes);

/// Unpacks those that are packed by gzip. Throws `Error` where one is damaged.
void unpack(std::vector<TraceFile>& files);

/// Returns what the ranks did whose traces are in these files (not packed), in order of rank; a file may hold several
/// ranks. Throws `Error` as the readers of the formats do, and where two files are of the same rank or files are of
/// different jobs.
std::vector<RankRun> read_rank_runs(std::vector<TraceFile> files);

}  // namespace plumb
