#include "tools/formats/run_files.hpp"

#include <utility>

#include "models/ground/text_file.hpp"
#include "sim/timeline/timeline_io.hpp"

namespace plumb {

namespace {

std::string read(const std::string& path) { return read_text_file(path == "-" ? "/dev/stdin" : path, kTimelineFile); }

}  // namespace

TracedRun read_traces(std::span<const std::string> paths, std::optional<std::int32_t> step) {
  std::vector<TraceFile> files;
  for (const std::string& path : paths) files.push_back({path, read(path)});
  return read_traced_run(std::move(files), step);
}

std::vector<Timeline> read_runs(std::span<const std::string> paths) {
  std::vector<Timeline> runs;
  std::vector<TraceFile> traces;
  const auto take_traces = [&] {
    if (!traces.empty()) runs.push_back(read_traced_run(std::exchange(traces, {})).timeline);
  };
  for (const std::string& path : paths) {
    std::string bytes = read(path);
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
