#include "tools/training/growing_file.hpp"

#include <cstring>
#include <filesystem>
#include <system_error>

#include <fcntl.h>

#include "models/ground/disk.hpp"
#include "models/ground/error.hpp"

namespace plumb {
namespace {

/// A file, or nothing yet.
bool can_grow(const std::string& path) {
  std::error_code failed;
  const std::filesystem::file_status status = std::filesystem::status(path, failed);
  return path != "-" && (!std::filesystem::exists(status) || std::filesystem::is_regular_file(status));
}

}  // namespace

GrowingFile::GrowingFile(const std::string& path) : whole_(path), grows_(can_grow(path)) {}

GrowingFile::~GrowingFile() {
  if (descriptor_ >= 0) disk::close(descriptor_, whole_.path());
}

void GrowingFile::add(std::string_view text) {
  if (!grows_) return;
  constexpr mode_t kNewFile = 0666;  // less the user's mask
  int reason = 0;
  if (descriptor_ < 0) reason = disk::open(whole_.path(), O_CREAT | O_TRUNC | O_WRONLY, kNewFile, descriptor_);
  if (reason == 0) reason = disk::write_all(descriptor_, text, whole_.path());
  check(reason);
}

void GrowingFile::check(int reason) const {
  if (reason != 0) throw Error(whole_.path() + ": cannot write: " + std::strerror(reason));
}

void GrowingFile::finish(std::string_view whole) {
  if (descriptor_ >= 0) check(disk::close(descriptor_, whole_.path()));
  grows_ = false;
  whole_.finish(whole);
}

}  // namespace plumb
