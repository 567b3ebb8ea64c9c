#include "trainer/ground/durable_file.hpp"

#include <cstring>
#include <string>
#include <utility>

#include <fcntl.h>

#include "models/ground/disk.hpp"
#include "models/ground/error.hpp"

namespace plumb {

DurableFile::DurableFile(std::filesystem::path path) : path_(std::move(path)) {
  check_written(path_, disk::open(path_, O_WRONLY | O_CREAT | O_TRUNC, 0666, descriptor_));
}

DurableFile::~DurableFile() {
  if (descriptor_ >= 0) disk::close(descriptor_, path_);
}

void DurableFile::write(std::span<const std::byte> bytes) {
  check_written(path_, disk::write_all(descriptor_, bytes, path_));
}

void DurableFile::close() {
  check_written(path_, disk::flush(descriptor_, path_));
  check_written(path_, disk::close(descriptor_, path_));
}

void check_written(const std::filesystem::path& path, int reason) {
  if (reason != 0) throw Error(path.string() + ": cannot be written: " + std::strerror(reason));
}

}  // namespace plumb
