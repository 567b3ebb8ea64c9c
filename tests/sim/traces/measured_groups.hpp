#pragma once

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "models/ground/text_file.hpp"
#include "tests/support/source_directory.hpp"

namespace plumb::testing {

/// A real run of PyTorch, and the middle half of its steps without profiler (data/groups/measured.csv).
struct GroupRun {
  std::string group;
  std::string schedule;  ///< with a capital: PyTorch's class
  std::int32_t ranks = 0;
  std::int64_t microbatches = 0;
  std::int32_t stages = 0;
  std::string order;  ///< file with the order that PyTorch dumped; empty: of a class that dumps none
  double low_ns = 0;
  double median_ns = 0;
  double high_ns = 0;
};

inline std::string group_file(const std::string& name) { return in_source("tests/sim/traces/data/groups/" + name); }

/// All runs, by group.
inline std::vector<GroupRun> measured_runs() {
  std::istringstream lines(read_text_file(group_file("measured.csv")));
  std::vector<GroupRun> runs;
  std::string line;
  std::getline(lines, line);  // names of the columns
  while (std::getline(lines, line)) {
    std::istringstream row(line);
    const auto next = [&row] {
      std::string cell;
      std::getline(row, cell, ',');
      return cell;
    };
    GroupRun run;
    run.group = next();
    run.schedule = next();
    run.ranks = std::stoi(next());
    run.microbatches = std::stoll(next());
    run.stages = std::stoi(next());
    run.order = next();
    run.low_ns = std::stod(next());
    run.median_ns = std::stod(next());
    run.high_ns = std::stod(next());
    runs.push_back(run);
  }
  return runs;
}

}  // namespace plumb::testing
