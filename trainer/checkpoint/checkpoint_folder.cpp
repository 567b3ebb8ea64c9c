#include "trainer/checkpoint/checkpoint_folder.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>

#include "models/ground/disk.hpp"
#include "models/ground/error.hpp"
#include "trainer/ground/durable_file.hpp"

namespace plumb {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLockName = ".lock";
constexpr std::string_view kComplete = "update-";
constexpr std::string_view kUnfinished = ".unfinished";
constexpr std::string_view kRemoved = "removed-";
constexpr std::string_view kDamaged = "damaged-";
constexpr std::size_t kKept = 2;

/// Returns the number in `name` between `begin` and `end`, when it is made of these.
std::optional<std::int64_t> number_in(std::string_view name, std::string_view begin, std::string_view end) {
  if (name.size() < begin.size() + end.size() || !name.starts_with(begin) || !name.ends_with(end)) return std::nullopt;
  const std::string_view digits = name.substr(begin.size(), name.size() - begin.size() - end.size());
  std::int64_t number = 0;
  const auto [rest, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (failure != std::errc{} || rest != digits.data() + digits.size()) return std::nullopt;
  return number;
}

std::string name_of(std::string_view begin, std::int64_t number) {
  std::array<char, 32> digits{};
  std::snprintf(digits.data(), digits.size(), "%09lld", static_cast<long long>(number));
  return std::string(begin) + digits.data();
}

/// `checkpoint` under a name that begins otherwise.
fs::path renamed(const fs::path& checkpoint, std::string_view begin) {
  const auto number = number_in(checkpoint.filename().string(), kComplete, {});
  return checkpoint.parent_path() / name_of(begin, number.value_or(0));
}

/// Returns everything in `directory`; nothing when it does not exist. The iterator of the standard library (libstdc++
/// 12) would end the program where it gets no memory.
std::vector<fs::path> entries_of(const fs::path& directory) {
  const auto fail = [&] { throw Error(directory.string() + ": cannot be read: " + std::strerror(errno)); };
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(directory.c_str()), ::closedir);
  if (folder == nullptr && errno == ENOENT) return {};
  if (folder == nullptr) fail();
  std::vector<fs::path> paths;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(folder.get());
    if (entry == nullptr) break;
    const std::string name = entry->d_name;
    if (name != "." && name != "..") paths.emplace_back(directory.native() + "/" + name);
  }
  if (errno != 0) fail();
  return paths;
}

}  // namespace

CheckpointFolder::CheckpointFolder(fs::path directory) : directory_(std::move(directory)) {
  check_written(directory_, disk::make_folder(directory_));
  check_written(directory_, disk::open(directory_ / kLockName, O_RDWR | O_CREAT, 0666, lock_));
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    disk::close(lock_, directory_);
    throw Error(directory_.string() +
                ": another run that has not ended saves its checkpoints here; expected another folder, or its end");
  }
  for (const fs::path& path : entries_of(directory_)) {
    const std::string name = path.filename().string();
    if (number_in(name, kComplete, kUnfinished) || number_in(name, kRemoved, {})) disk::remove(path);
  }
}

CheckpointFolder::~CheckpointFolder() {
  if (lock_ >= 0) disk::close(lock_, directory_);
}

void CheckpointFolder::add(std::int64_t updates_done, const std::function<void(const fs::path&)>& write_files) {
  const fs::path target = directory_ / name_of(kComplete, updates_done);
  fs::path unfinished = target;
  unfinished += kUnfinished;
  try {
    check_written(unfinished, disk::remove(unfinished));
    check_written(unfinished, disk::make_folder(unfinished));
    write_files(unfinished);
    check_written(unfinished, disk::flush_folder(unfinished));
    std::error_code ignored;
    if (fs::exists(target, ignored)) remove(target);
    check_written(target, disk::rename(unfinished, target));
    check_written(directory_, disk::flush_folder(directory_));
  } catch (...) {  // no memory, too
    disk::remove(unfinished);
    throw;
  }
  const std::vector<fs::path> all = checkpoints_in(directory_);
  for (std::size_t i = 0; i + kKept < all.size(); ++i) remove(all[i]);
}

/// Under another name first: what is removed in part must not look like a checkpoint. A failure leaves it to the next
/// time.
void CheckpointFolder::remove(const fs::path& checkpoint) {
  const fs::path removed = renamed(checkpoint, kRemoved);
  disk::remove(removed);
  if (disk::rename(checkpoint, removed) == 0) disk::remove(removed);
}

void CheckpointFolder::set_aside(const std::vector<fs::path>& checkpoints) {
  for (const fs::path& checkpoint : checkpoints) {
    disk::remove(name_aside(checkpoint));
    disk::rename(checkpoint, name_aside(checkpoint));
  }
}

std::vector<fs::path> checkpoints_in(const fs::path& directory) {
  std::vector<std::pair<std::int64_t, fs::path>> found;
  for (fs::path& path : entries_of(directory)) {
    const auto number = number_in(path.filename().string(), kComplete, {});
    if (number) found.emplace_back(*number, std::move(path));
  }
  std::sort(found.begin(), found.end());
  std::vector<fs::path> paths;
  for (auto& [number, path] : found) paths.push_back(std::move(path));
  return paths;
}

std::optional<fs::path> newest_checkpoint(const fs::path& directory) {
  const std::vector<fs::path> all = checkpoints_in(directory);
  if (all.empty()) return std::nullopt;
  return all.back();
}

fs::path name_aside(const fs::path& checkpoint) { return renamed(checkpoint, kDamaged); }

}  // namespace plumb
