#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

namespace plumb {

/// A directory of one test's own, which does not exist yet, and is gone afterwards.
struct ScratchDirectory {
  std::filesystem::path path;

  explicit ScratchDirectory(const std::string& name)
      : path(std::filesystem::temp_directory_path() / ("plumbline-" + name + "-" + std::to_string(getpid()))) {
    std::filesystem::remove_all(path);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  ~ScratchDirectory() { std::filesystem::remove_all(path); }
};

}  // namespace plumb
