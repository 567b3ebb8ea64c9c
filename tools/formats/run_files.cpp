#include "tools/formats/run_files.hpp"

#include <utility>

#include "models/ground/text_file.hpp"
#include "sim/timeline/timeline_io.hpp"
#include "sim/traces/traced_run.hpp"

namespace plumb {

std::vector<Timeline> read_runs(std::span<const std::string> paths) {
  std::vector<Timeline> runs;
  std::vector<TraceFile> traces;
  const auto take_traces = [&] {
    if (!traces.empty()) runs.push_back(read_traced_run(std::exchange(traces, {})).timeline);
  };
  for (const std::string& path : paths) {
    std::string bytes = read_text_file(path == "-" ? "/dev/stdin" : path, kTimelineFile);
    if (is_traced_run(bytes)) {
      traces.push_back({path, std::move(bytes)});
      continue;
    }
    take_traces();
    runs.push_back(timeline_from_json(std::move(bytes), path));
  }
  take_traces();
  return runs;
}

}  // namespace plumb
