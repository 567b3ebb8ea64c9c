#include "trainer/ground/durable_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "models/ground/error.hpp"

namespace plumb {

DurableFile::DurableFile(std::filesystem::path path) : path_(std::move(path)) {
  descriptor_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail();
}

DurableFile::~DurableFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void DurableFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail();
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void DurableFile::close() {
  if (fsync(descriptor_) != 0) fail();
  if (::close(std::exchange(descriptor_, -1)) != 0) fail();
}

void DurableFile::fail() const { throw Error(path_.string() + ": cannot be written: " + std::strerror(errno)); }

void flush_directory(const std::filesystem::path& directory) {
  const int descriptor = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool flushed = descriptor >= 0 && fsync(descriptor) == 0;
  const int reason = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (!flushed) throw Error(directory.string() + ": cannot be written: " + std::strerror(reason));
}

}  // namespace plumb
