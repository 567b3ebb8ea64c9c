#include "tools/formats/run_files.hpp"

#include <algorithm>
#include <utility>

#include "models/ground/error.hpp"
#include "models/ground/given_files.hpp"
#include "models/ground/text_file.hpp"
#include "schedules/catalogue/registry.hpp"
#include "sim/timeline/timeline_io.hpp"
#include "sim/traces/calm_steps.hpp"
#include "tools/formats/file_nature.hpp"
#include "tools/formats/schedule_program.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {

namespace {

constexpr std::string_view kTimelineOrTraces =
    "a timeline that `simulate --json` or `train --json` wrote, or the traces of a run";
constexpr std::size_t kMostFilesOfFolder = 10'000;

bool is_schedule_name(const std::string& name) {
  return std::ranges::any_of(schedule_catalogue(), [&](const auto& spec) { return spec.name == name; });
}

/// Throws `Error` for a schedule's name where a file is meant.
void refuse_schedule_name(const std::string& path) {
  if (path == "-" || file_exists(path) || !is_schedule_name(path)) return;
  throw Error(path + ": is a schedule, expected the file of a timeline; `plumbline simulate " + shell_word(path) +
              " ... --json FILE` writes one");
}

/// Of a timeline, or of a trace.
std::string bytes_of_run(const std::string& path) {
  refuse_schedule_name(path);
  std::string bytes = read_named_input(path, kTimelineFile);
  refuse_picture(bytes, path, kTimelineOrTraces);
  if (!is_traced_run(bytes)) require_json(bytes, path, kTimelineOrTraces);
  return bytes;
}

std::string bytes_of_trace(const std::string& path) {
  constexpr std::string_view kTraces = "the traces of a run, one of each rank";
  std::string bytes = read_named_input(path, kTimelineFile);
  refuse_picture(bytes, path, kTraces);
  if (!is_traced_run(bytes)) refuse_known_kind(bytes, path, kTraces);
  return bytes;
}

/// The traces in the folder `path`: profilers write a file per rank into one.
std::vector<std::string> traces_of_folder(const std::string& path) {
  std::vector<std::string> files = folder_entries(path, kMostFilesOfFolder);
  std::erase_if(files, [](const std::string& name) {
    const bool is_trace = name.ends_with(".json") || name.ends_with(".json.gz");
    return !is_trace || !is_plain_file(name);
  });
  if (files.empty()) throw Error(path + ": is a folder without .json and .json.gz files, expected traces");
  return files;
}

/// `paths` with the files of folders in their place.
std::vector<std::string> with_folders(std::span<const std::string> paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!is_folder(path)) {
      files.push_back(path);
      continue;
    }
    const std::vector<std::string> more = traces_of_folder(path);
    files.insert(files.end(), more.begin(), more.end());
  }
  return files;
}

}  // namespace

TracedRun read_traces(std::span<const std::string> paths, std::optional<std::int32_t> step) {
  std::vector<TraceFile> files;
  for (const std::string& path : with_folders(paths)) files.push_back({path, bytes_of_trace(path)});
  return read_traced_run(std::move(files), step);
}

RunProfile profile_of_timeline(std::string text, const std::string& path) {
  return read_traced_run({{path, std::move(text)}}).known_profile();
}

NamedRuns read_runs(std::span<const std::string> paths) {
  NamedRuns read;
  std::vector<TraceFile> traces;
  std::size_t count = 0;
  const auto take_traces = [&] {
    if (traces.empty()) return;
    const std::size_t more = traces.size() - 1;
    const std::string name = traces.front().name + (more > 0 ? " and " + std::to_string(more) + " more" : "");
    TracedRun run = read_traced_run(std::exchange(traces, {}));
    for (const std::int32_t step : calm_steps(run.step_ns)) {
      read.short_names.push_back("step " + std::to_string(step));
      read.names.push_back(name + ", " + read.short_names.back());
      read.runs.push_back(std::move(run.steps[static_cast<std::size_t>(step)]));
      read.run.push_back(count);
    }
    read.traced = true;
    ++count;
  };
  for (const std::string& path : with_folders(paths)) {
    std::string bytes = bytes_of_run(path);
    if (is_traced_run(bytes)) {
      traces.push_back({path, std::move(bytes)});
      continue;
    }
    take_traces();
    read.runs.push_back(timeline_from_json(std::move(bytes), path));
    read.names.push_back(path);
    read.short_names.push_back(path);
    read.run.push_back(count++);
  }
  take_traces();
  return read;
}

bool is_given_schedule(const std::string& name_or_file) {
  if (name_or_file == "-") return false;
  const bool given = GivenFiles::find(name_or_file) != nullptr;
  if (!given && !file_exists(name_or_file)) {
    return name_or_file.find_first_of("./") == std::string::npos || is_schedule_program(name_or_file);
  }
  if (!given && !is_plain_file(name_or_file)) return false;  // what is read once only, or a folder
  return begins_as_schedule(read_named_input(name_or_file, kTimelineFile));
}

Timeline read_run(const std::string& path) {
  std::string bytes = bytes_of_run(path);
  if (!is_traced_run(bytes)) return timeline_from_json(std::move(bytes), path);
  return read_traced_run({{path, std::move(bytes)}}).timeline();
}

}  // namespace plumb
