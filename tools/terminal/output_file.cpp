#include "tools/terminal/output_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <set>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

const std::string kStandardOutput = "standard output";
constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
constexpr mode_t kNewFileMode = 0666;  // less the user's mask

[[noreturn]] void throw_cannot_write(const std::string& where, int reason) {
  throw Error(where + ": cannot write: " + std::strerror(reason));
}

/// Writes all of `text`; returns the error, or 0.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

/// A replaced file keeps its permissions.
void copy_permissions(const std::string& from, int to) {
  struct stat status {};
  if (::stat(from.c_str(), &status) == 0 && ::fchmod(to, status.st_mode & 07777) != 0) errno = 0;
}

}  // namespace

OutputFile::OutputFile(std::string path) : path_(std::move(path)), target_(path_) {
  if (is_standard_output()) {
    in_place_ = true;
    descriptor_ = STDOUT_FILENO;
    return;
  }
  if (path_.empty()) throw Error("output file: the name is empty, expected a path or - for standard output");
  std::error_code missing;
  const std::filesystem::path real = std::filesystem::canonical(path_, missing);
  if (!missing) target_ = real.string();
  struct stat status {};
  const bool exists = ::stat(target_.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) throw_cannot_write(path_, EISDIR);
  in_place_ = exists && !S_ISREG(status.st_mode);
  if (in_place_) {
    descriptor_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail();
    return;
  }
  if (exists && ::access(target_.c_str(), W_OK) != 0) fail();
  open_temporary();
  if (exists) copy_permissions(target_, descriptor_);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      buffer_(std::move(other.buffer_)),
      temporary_(std::exchange(other.temporary_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)),
      in_place_(other.in_place_) {}

OutputFile::~OutputFile() {
  close_descriptor();
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

/// A file without a name disappears by itself, even after `kill -9`; where the file system has none, a hidden one.
void OutputFile::open_temporary() {
  const std::filesystem::path parent = std::filesystem::path(target_).parent_path();
  const std::string directory = parent.empty() ? "." : parent.string();
  descriptor_ = ::open(directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, kNewFileMode);
  if (descriptor_ >= 0) return;
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL) fail();
  const std::string name = "." + std::filesystem::path(target_).filename().string();
  const std::string candidate = directory + "/" + name + "." + std::to_string(::getpid());
  descriptor_ = ::open(candidate.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, kNewFileMode);
  if (descriptor_ < 0) fail();
  temporary_ = candidate;
}

/// Gives a file without a name its temporary name.
void OutputFile::link_unnamed() {
  const std::string source = "/proc/self/fd/" + std::to_string(descriptor_);
  const std::string candidate = target_ + "." + std::to_string(::getpid()) + ".part";
  if (::linkat(AT_FDCWD, source.c_str(), AT_FDCWD, candidate.c_str(), AT_SYMLINK_FOLLOW) != 0) fail();
  temporary_ = candidate;
}

void OutputFile::write(std::string_view text) {
  buffer_ += text;
  if (buffer_.size() >= kBufferBytes) flush();
}

void OutputFile::flush() {
  const int error = write_all(descriptor_, buffer_);
  buffer_.clear();
  if (error != 0) throw_cannot_write(is_standard_output() ? kStandardOutput : path_, error);
}

void OutputFile::commit() {
  flush();
  if (!in_place_) {
    if (temporary_.empty()) link_unnamed();
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail();
    temporary_.clear();
  }
  close_descriptor();
}

void OutputFile::fail() const { throw_cannot_write(path_, errno); }

void OutputFile::close_descriptor() {
  if (descriptor_ > STDERR_FILENO) ::close(descriptor_);
  descriptor_ = -1;
}

void check_distinct_outputs(const std::vector<std::string>& paths) {
  namespace fs = std::filesystem;
  std::set<std::string> wanted;  // by what the path stands for
  for (const std::string& path : paths) {
    std::error_code failed;
    if (path.empty() || (path != "-" && fs::is_other(path, failed))) continue;  // a device takes everything
    const std::string target = path == "-" ? path : fs::weakly_canonical(fs::absolute(path), failed).string();
    if (wanted.insert(target).second) continue;
    throw Error((path == "-" ? kStandardOutput : path) + ": two outputs have this name, expected one");
  }
}

void print(std::string_view text) {
  if (const int error = write_all(STDOUT_FILENO, text); error != 0) throw_cannot_write(kStandardOutput, error);
}

}  // namespace plumb
