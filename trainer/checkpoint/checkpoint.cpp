#include "trainer/checkpoint/checkpoint.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <string>
#include <system_error>
#include <vector>

#include "models/ground/disk.hpp"
#include "models/ground/error.hpp"
#include "models/ground/json_reader.hpp"
#include "models/ground/text_file.hpp"
#include "trainer/checkpoint/safetensors.hpp"
#include "trainer/checkpoint/snapshot.hpp"
#include "trainer/checkpoint/snapshot_gather.hpp"
#include "trainer/ground/durable_file.hpp"

namespace plumb {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "update-";
constexpr std::string_view kUnfinished = ".unfinished";
constexpr std::size_t kKept = 2;

std::string name_of(std::int64_t updates_done) {
  std::array<char, 32> name{};
  std::snprintf(name.data(), name.size(), "update-%09lld", static_cast<long long>(updates_done));
  return name.data();
}

/// Complete checkpoints, oldest first.
std::vector<fs::path> checkpoints_in(const fs::path& directory) {
  std::vector<std::pair<std::int64_t, fs::path>> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    std::int64_t number = 0;
    if (!name.starts_with(kPrefix)) continue;
    const char* end = name.data() + name.size();
    const auto [rest, failure] = std::from_chars(name.data() + kPrefix.size(), end, number);
    if (failure == std::errc{} && rest == end) found.emplace_back(number, entry.path());
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    throw Error(directory.string() + ": cannot be read: " + error.message());
  }
  std::sort(found.begin(), found.end());
  std::vector<fs::path> paths;
  for (auto& [number, path] : found) paths.push_back(std::move(path));
  return paths;
}

void write_files(const Snapshot& snapshot, const fs::path& directory) {
  write_safetensors(directory / "tensors.safetensors", snapshot.tensors);
  DurableFile state(directory / "state.json");
  state.write(std::as_bytes(std::span(snapshot.state)));
  state.close();
  check_written(directory, disk::flush_folder(directory));
}

}  // namespace

void save_checkpoint(TrainingRun& run, const fs::path& directory, std::int64_t updates_done) {
  const Snapshot snapshot =
      run.processes() == nullptr ? take_snapshot(run) : gather_snapshot(*run.processes(), take_snapshot(run));
  if (run.processes() != nullptr && !run.processes()->is_first()) return;
  const fs::path target = directory / name_of(updates_done);
  fs::path unfinished = target;
  unfinished += kUnfinished;
  try {
    check_written(directory, disk::make_folder(directory));
    check_written(unfinished, disk::remove(unfinished));
    check_written(unfinished, disk::make_folder(unfinished));
    write_files(snapshot, unfinished);
    check_written(target, disk::remove(target));
    check_written(target, disk::rename(unfinished, target));
    check_written(directory, disk::flush_folder(directory));
  } catch (const Error&) {
    disk::remove(unfinished);
    throw;
  }
  const std::vector<fs::path> all = checkpoints_in(directory);
  for (std::size_t i = 0; i + kKept < all.size(); ++i) disk::remove(all[i]);
}

std::optional<fs::path> newest_checkpoint(const fs::path& directory) {
  const std::vector<fs::path> all = checkpoints_in(directory);
  if (all.empty()) return std::nullopt;
  return all.back();
}

void load_checkpoint(TrainingRun& run, const fs::path& checkpoint) {
  const fs::path state_path = checkpoint / "state.json";
  const JsonDocument state(read_text_file(state_path), state_path.string());
  const SafetensorsFile tensors(checkpoint / "tensors.safetensors");
  restore_snapshot(run, state.root(), tensors);
}

}  // namespace plumb
