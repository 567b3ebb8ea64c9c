#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

namespace plumb {

/// A folder of checkpoints, into which nobody else writes as long as this object lives: it holds a lock (flock) on the
/// file ".lock" in it, which the system takes away from a process that dies. Where the file system knows no locks,
/// there is none.
class CheckpointFolder {
 public:
  /// Makes the folder, takes the lock, and removes what interrupted runs left: checkpoints that were not finished, or
  /// not removed to the end. Throws `Error` when another run has the lock, or the folder cannot be written.
  explicit CheckpointFolder(std::filesystem::path directory);
  CheckpointFolder(const CheckpointFolder&) = delete;
  CheckpointFolder& operator=(const CheckpointFolder&) = delete;
  ~CheckpointFolder();

  /// Adds the checkpoint after `updates_done` updates, whose files `write_files` writes into the folder that it is
  /// given. A kill at any moment leaves the newest complete one intact. Afterwards only the newest two remain. Throws
  /// `Error` when it cannot be written; nothing partial is left.
  void add(std::int64_t updates_done, const std::function<void(const std::filesystem::path&)>& write_files);

  /// Renames checkpoints, so that they are no longer taken for ones, but kept. Failures are passed over.
  void set_aside(const std::vector<std::filesystem::path>& checkpoints);

 private:
  void remove(const std::filesystem::path& checkpoint);

  std::filesystem::path directory_;
  int lock_ = -1;
};

/// Returns the checkpoints in `directory`, oldest first; none when the directory does not exist.
std::vector<std::filesystem::path> checkpoints_in(const std::filesystem::path& directory);

/// Returns the newest checkpoint in `directory`; none when there is none (also when the directory does not exist).
std::optional<std::filesystem::path> newest_checkpoint(const std::filesystem::path& directory);

/// Returns the name that `CheckpointFolder::set_aside` gives a checkpoint.
std::filesystem::path name_aside(const std::filesystem::path& checkpoint);

}  // namespace plumb
