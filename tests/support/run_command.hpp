#pragma once

#include <filesystem>
#include <string>

namespace plumb::testing {

/// What a command left behind.
struct CommandResult {
  int status = 0;  ///< exit status, or 128 + the signal that ended it
  std::string out;
  std::string err;
};

/// The `plumbline` that was just built.
std::filesystem::path program();

/// Runs `command` with bash in `directory`; `plumbline` in it is the program that was just built.
CommandResult run_command(const std::string& command, const std::filesystem::path& directory);

/// A new empty directory that disappears with this object.
class ScratchDirectory {
 public:
  ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  ~ScratchDirectory();

  const std::filesystem::path& path() const { return path_; }

  /// Writes a file into it.
  void write(const std::string& name, const std::string& text) const;

  /// Names of everything in it, sorted, hidden files included, separated by blanks.
  std::string listing() const;

 private:
  std::filesystem::path path_;
};

/// The whole file; empty when it is not there.
std::string file_text(const std::filesystem::path& path);

}  // namespace plumb::testing
