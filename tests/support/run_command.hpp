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

/// The whole file; empty when it is not there.
std::string file_text(const std::filesystem::path& path);

}  // namespace plumb::testing
