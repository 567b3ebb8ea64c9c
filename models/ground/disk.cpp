#include "models/ground/disk.hpp"

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace plumb::disk {
namespace {

namespace fs = std::filesystem;

Fault& current_fault() {
  static Fault fault;
  return fault;
}

/// Returns what a test wants to go wrong here.
int fault_at(Call call, const fs::path& path) { return current_fault() ? current_fault()(call, path) : 0; }

int reason_of(bool done) { return done ? 0 : errno; }

}  // namespace

void set_fault(Fault fault) { current_fault() = std::move(fault); }

int open(const fs::path& path, int flags, mode_t mode, int& descriptor) {
  descriptor = -1;
  if (const int fault = fault_at(Call::kOpen, path)) return fault;
  descriptor = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  return reason_of(descriptor >= 0);
}

int write_all(int descriptor, std::span<const std::byte> bytes, const fs::path& path) {
  while (!bytes.empty()) {
    if (const int fault = fault_at(Call::kWrite, path)) return fault;
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return 0;
}

int write_all(int descriptor, std::string_view text, const fs::path& path) {
  return write_all(descriptor, std::as_bytes(std::span(text)), path);
}

int flush(int descriptor, const fs::path& path) {
  if (const int fault = fault_at(Call::kFlush, path)) return fault;
  const int reason = reason_of(::fsync(descriptor) == 0);
  return reason == EINVAL || reason == EROFS || reason == ENOTSUP ? 0 : reason;
}

int close(int& descriptor, const fs::path& path) {
  const int fault = fault_at(Call::kClose, path);
  const int reason = reason_of(::close(std::exchange(descriptor, -1)) == 0);
  return fault != 0 ? fault : reason;
}

int name_unnamed(int descriptor, const fs::path& path) {
  if (const int fault = fault_at(Call::kLink, path)) return fault;
  const std::string source = "/proc/self/fd/" + std::to_string(descriptor);
  return reason_of(::linkat(AT_FDCWD, source.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0);
}

int rename(const fs::path& from, const fs::path& to) {
  if (const int fault = fault_at(Call::kRename, from)) return fault;
  return reason_of(std::rename(from.c_str(), to.c_str()) == 0);
}

int remove(const fs::path& path) {
  if (const int fault = fault_at(Call::kRemove, path)) return fault;
  std::error_code failure;
  fs::remove_all(path, failure);
  return failure.value();
}

int make_folder(const fs::path& path) {
  if (const int fault = fault_at(Call::kMakeFolder, path)) return fault;
  std::error_code failure;
  std::vector<fs::path> changed;  // folders that get an entry
  for (fs::path at = fs::absolute(path, failure).lexically_normal(); !fs::exists(at, failure) && at.has_relative_path();
       at = at.parent_path()) {
    changed.push_back(at.parent_path());
  }
  if (!fs::create_directories(path, failure) && failure) return failure.value();
  for (const fs::path& folder : changed) {
    if (const int reason = flush_folder(folder); reason != 0) return reason;
  }
  return 0;
}

int flush_folder(const fs::path& path) {
  int descriptor = -1;
  const int reason = open(path, O_RDONLY | O_DIRECTORY, 0, descriptor);
  if (reason == EACCES) return 0;
  if (reason != 0) return reason;
  const int flushed = flush(descriptor, path);
  const int closed = close(descriptor, path);
  return flushed != 0 ? flushed : closed;
}

}  // namespace plumb::disk
