#include "models/ground/text_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "models/ground/error.hpp"
#include "models/ground/given_files.hpp"

namespace plumb {
namespace {

constexpr std::size_t kFirstBlock = std::size_t{1} << 16U;

/// A file that is open for reading.
class OpenedFile {
 public:
  explicit OpenedFile(const std::filesystem::path& path) : descriptor_(opened(path)) {
    if (descriptor_ < 0) throw Error(path.string() + ": cannot open: " + std::strerror(errno));
  }
  OpenedFile(const OpenedFile&) = delete;
  OpenedFile& operator=(const OpenedFile&) = delete;
  ~OpenedFile() { ::close(descriptor_); }

  int descriptor() const { return descriptor_; }

  /// Fills `into` as far as the file goes; returns how far. Throws `Error` with `name`.
  std::size_t read(char* into, std::size_t size, const std::string& name) const {
    std::size_t filled = 0;
    while (filled < size) {
      const ssize_t count = ::read(descriptor_, into + filled, size - filled);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) throw Error(name + ": cannot read: " + std::strerror(errno));
      if (count == 0) break;
      filled += static_cast<std::size_t>(count);
    }
    return filled;
  }

 private:
  /// What stands behind /dev/stdin may be a socket, which has no name that could be opened.
  static int opened(const std::filesystem::path& path) {
    if (path == "/dev/stdin") return ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
    const bool waits = GivenFiles::current().reach == FileReach::kAll;  // for who writes to a pipe
    return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | (waits ? 0 : O_NONBLOCK));
  }

  int descriptor_;
};

/// "268435456 bytes (256 MiB)".
std::string limit_text(std::size_t bytes) {
  std::string text = std::to_string(bytes) + " bytes";
  if (bytes % kGibibyte == 0) return text + " (" + std::to_string(bytes / kGibibyte) + " GiB)";
  if (bytes % kMebibyte == 0) return text + " (" + std::to_string(bytes / kMebibyte) + " MiB)";
  return text;
}

void check_size(const std::string& name, std::size_t bytes, const FileKind& kind) {
  if (bytes <= kind.most_bytes) return;
  throw Error(name + ": has " + std::to_string(bytes) + " bytes, expected a file (" + std::string(kind.name) +
              ") of at most " + limit_text(kind.most_bytes));
}

/// Throws `Error` for what never ends, as /dev/zero and its like (what a terminal gives does, and /dev/null has
/// nothing), and for a pipe that a document names.
void check_ends(const std::string& name, const struct stat& status, int descriptor) {
  if (S_ISREG(status.st_mode) || (S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3))) return;
  const bool is_device = S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode);
  if (is_device && ::isatty(descriptor) == 0) throw Error(name + ": is a device, expected a file");
  if (GivenFiles::current().reach == FileReach::kAll) return;
  throw Error(name + ": is a pipe or a terminal, expected a regular file where a document names it");
}

bool reads_disk() { return GivenFiles::current().reach != FileReach::kGiven; }

[[noreturn]] void throw_not_given(const std::string& name) {
  throw Error(name + ": is no text of the request, expected one of its 'files', because nothing else may be read");
}

}  // namespace

std::string read_text_file(const std::filesystem::path& path, const FileKind& kind) {
  const std::string name = path.string();
  if (const std::string* given = GivenFiles::find(name)) {
    check_size(name, given->size(), kind);
    return *given;
  }
  if (!reads_disk()) throw_not_given(name);
  if (is_folder(path)) throw Error(name + ": is a directory, expected a file");
  const OpenedFile file(path);
  struct stat status {};
  if (::fstat(file.descriptor(), &status) != 0) throw Error(name + ": cannot read: " + std::strerror(errno));
  check_ends(name, status, file.descriptor());
  const bool knows_size = S_ISREG(status.st_mode);
  const auto known = knows_size ? static_cast<std::size_t>(status.st_size) : std::size_t{0};
  check_size(name, known, kind);
  // Blocks that double, because not everything that can be read knows its size, and not everything ends.
  const std::size_t most = knows_size ? kind.most_bytes : std::min(kind.most_bytes, kMostPipeBytes);
  std::string text;
  for (std::size_t block = known > 0 ? known + 1 : kFirstBlock;; block = std::max(kFirstBlock, text.size())) {
    const std::size_t size = text.size();
    text.resize(size + std::min(block, most + 1 - size));
    text.resize(size + file.read(text.data() + size, text.size() - size, name));
    if (text.size() > most) {
      throw Error(name + ": has more than " + limit_text(most) + ", expected a file (" + std::string(kind.name) +
                  ") that ends before");
    }
    if (text.size() < size + block) return text;
  }
}

bool file_exists(const std::filesystem::path& path) {
  std::error_code ignored;
  return GivenFiles::find(path.string()) != nullptr || (reads_disk() && std::filesystem::exists(path, ignored));
}

bool is_plain_file(const std::filesystem::path& path) {
  std::error_code ignored;
  return GivenFiles::find(path.string()) != nullptr ||
         (reads_disk() && std::filesystem::is_regular_file(path, ignored));
}

bool is_folder(const std::filesystem::path& path) {
  std::error_code ignored;
  return reads_disk() && std::filesystem::is_directory(path, ignored);
}

std::vector<std::string> folder_entries(const std::filesystem::path& path, std::size_t most) {
  if (!reads_disk()) throw_not_given(path.string());
  std::vector<std::string> names;
  std::error_code failed;
  for (std::filesystem::directory_iterator at(path, failed), end; !failed && at != end; at.increment(failed)) {
    names.push_back(at->path().string());
    if (names.size() > most) {
      throw Error(path.string() + ": holds more than " + std::to_string(most) + " files, expected those of one run");
    }
  }
  if (failed) throw Error(path.string() + ": cannot read: " + failed.message());
  std::ranges::sort(names);
  return names;
}

bool is_document_path(std::string_view name) {
  return name.find('/') != std::string_view::npos || name.ends_with(".json") || name.ends_with(".txt");
}

}  // namespace plumb
