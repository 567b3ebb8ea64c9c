#include "tools/formats/run_files.hpp"

#include <utility>

#include "sim/timeline/timeline_io.hpp"
#include "sim/traces/run_samples.hpp"
#include "tools/formats/named_input.hpp"

namespace plumb {

namespace {

std::string bytes_of(const std::string& path) { return read_named_input(path, kTimelineFile); }

}  // namespace

TracedRun read_traces(std::span<const std::string> paths, std::optional<std::int32_t> step) {
  std::vector<TraceFile> files;
  for (const std::string& path : paths) files.push_back({path, bytes_of(path)});
  return read_traced_run(std::move(files), step);
}

NamedRuns read_runs(std::span<const std::string> paths) {
  NamedRuns read;
  std::vector<TraceFile> traces;
  const auto take_traces = [&] {
    if (traces.empty()) return;
    const std::size_t more = traces.size() - 1;
    const std::string name = traces.front().name + (more > 0 ? " and " + std::to_string(more) + " more" : "");
    TracedRun run = read_traced_run(std::exchange(traces, {}));
    for (const std::int32_t step : calm_steps(run.step_ns)) {
      read.short_names.push_back("step " + std::to_string(step));
      read.names.push_back(name + ", " + read.short_names.back());
      read.runs.push_back(std::move(run.steps[static_cast<std::size_t>(step)]));
    }
    read.traced = true;
  };
  for (const std::string& path : paths) {
    std::string bytes = bytes_of(path);
    if (is_traced_run(bytes)) {
      traces.push_back({path, std::move(bytes)});
      continue;
    }
    take_traces();
    read.runs.push_back(timeline_from_json(std::move(bytes), path));
    read.names.push_back(path);
    read.short_names.push_back(path);
  }
  take_traces();
  return read;
}

Timeline read_run(const std::string& path) {
  std::string bytes = bytes_of(path);
  if (!is_traced_run(bytes)) return timeline_from_json(std::move(bytes), path);
  return read_traced_run({{path, std::move(bytes)}}).timeline();
}

}  // namespace plumb
