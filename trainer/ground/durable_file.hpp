#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace plumb {

/// A file that is on the disk when `close` returns. Every failure throws `Error` with the path and the system's reason.
class DurableFile {
 public:
  /// Creates or truncates.
  explicit DurableFile(std::filesystem::path path);
  DurableFile(const DurableFile&) = delete;
  DurableFile& operator=(const DurableFile&) = delete;
  ~DurableFile();

  void write(std::span<const std::byte> bytes);
  /// Flushes to the disk and closes.
  void close();

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

/// Throws `Error` with the path and the reason when a call of models/ground/disk.hpp returned another one than 0.
void check_written(const std::filesystem::path& path, int reason);

}  // namespace plumb
