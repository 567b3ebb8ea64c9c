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
  [[noreturn]] void fail() const;

  std::filesystem::path path_;
  int descriptor_ = -1;
};

/// Makes the entries of `directory` (new files, renames) durable.
void flush_directory(const std::filesystem::path& directory);

}  // namespace plumb
