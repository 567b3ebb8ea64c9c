#include "tools/terminal/output_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <set>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "models/ground/disk.hpp"
#include "models/ground/error.hpp"

namespace plumb {
namespace {

const std::string kStandardOutput = "standard output";
constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
constexpr mode_t kNewFileMode = 0666;  // less the user's mask

[[noreturn]] void throw_cannot_write(const std::string& where, int reason) {
  throw Error(where + ": cannot write: " + std::strerror(reason));
}

std::string folder_of(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

/// A replaced file keeps its permissions.
void copy_permissions(const std::string& from, int to) {
  struct stat status {};
  if (::stat(from.c_str(), &status) == 0 && ::fchmod(to, status.st_mode & 07777) != 0) errno = 0;
}

/// Bytes of the code of a colour that `text` begins with: "\033[0m", or black on a colour, "\033[30;46m"; 0: none.
std::size_t colour_bytes(std::string_view text) {
  constexpr std::string_view kUncoloured = "\033[0m";
  constexpr std::string_view kBlackOn = "\033[30;";
  if (text.starts_with(kUncoloured)) return kUncoloured.size();
  if (!text.starts_with(kBlackOn)) return 0;
  const std::size_t end = text.find_first_not_of("0123456789", kBlackOn.size());
  return end != std::string_view::npos && text[end] == 'm' && end <= kBlackOn.size() + 3 ? end + 1 : 0;
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
    check(disk::open(target_, O_WRONLY, 0, descriptor_));
    return;
  }
  if (exists && ::access(target_.c_str(), W_OK) != 0) throw_cannot_write(path_, errno);
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
  if (descriptor_ > STDERR_FILENO) disk::close(descriptor_, target_);
  if (!temporary_.empty()) disk::remove(temporary_);
}

/// A file without a name disappears by itself, even after `kill -9`; where the file system has none, a hidden one.
void OutputFile::open_temporary() {
  const std::string folder = folder_of(target_);
  const int reason = disk::open(folder, O_TMPFILE | O_WRONLY, kNewFileMode, descriptor_);
  if (reason == 0) return;
  if (reason != EOPNOTSUPP && reason != EISDIR && reason != EINVAL) check(reason);
  const std::string name = "." + std::filesystem::path(target_).filename().string();
  std::string candidate = folder + "/" + name + "." + std::to_string(::getpid());
  check(disk::open(candidate, O_CREAT | O_EXCL | O_WRONLY, kNewFileMode, descriptor_));
  temporary_ = std::move(candidate);
}

/// Gives a file without a name its temporary name.
void OutputFile::link_unnamed() {
  std::string candidate = target_ + "." + std::to_string(::getpid()) + ".part";
  check(disk::name_unnamed(descriptor_, candidate));
  temporary_ = std::move(candidate);  // allocates nothing: from here on there is something to remove
}

void OutputFile::write(std::string_view text) {
  buffer_ += text;
  if (buffer_.size() >= kBufferBytes) flush();
}

void OutputFile::flush() {
  const int reason = disk::write_all(descriptor_, buffer_, target_);
  buffer_.clear();
  check(reason);
}

void OutputFile::commit() {
  flush();
  if (is_standard_output()) return;
  if (in_place_) return check(disk::close(descriptor_, target_));
  // On the disk before it has its name: after a power cut there is the old file or the new one, never an empty one.
  check(disk::flush(descriptor_, target_));
  if (temporary_.empty()) link_unnamed();
  check(disk::close(descriptor_, target_));
  check(disk::rename(temporary_, target_));
  temporary_.clear();
  check(disk::flush_folder(folder_of(target_)));
}

void OutputFile::check(int reason) const {
  if (reason != 0) throw_cannot_write(is_standard_output() ? kStandardOutput : path_, reason);
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

std::string terminal_text(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\n\t\033"), text.size());
    shown += printable(text.substr(0, end));
    text.remove_prefix(end);
    if (text.empty()) break;
    const std::size_t kept = text.front() == '\033' ? colour_bytes(text) : 1;
    shown += kept > 0 ? std::string(text.substr(0, kept)) : printable(text.substr(0, 1));
    text.remove_prefix(std::max<std::size_t>(1, kept));
  }
  return shown;
}

void print(std::string_view text) {
  const std::string shown = terminal_text(text);
  const int reason = disk::write_all(STDOUT_FILENO, shown, kStandardOutput);
  if (reason != 0) throw_cannot_write(kStandardOutput, reason);
}

}  // namespace plumb
