// Preloaded into a program (LD_PRELOAD), it counts the program's calls of one kind and lets one of them fail, or that
// one and all later ones. faults.py drives it by the environment:
//
//   PLUMB_FAULT=KIND:N:ERROR      the N-th call (from 1) of KIND fails once with the number ERROR
//   PLUMB_FAULT=KIND:N:ERROR:on   and all calls of KIND after it
//   PLUMB_FAULT=KIND:N:ERROR:each every N-th call, each in a process of its own (copied_run.hpp)
//   PLUMB_FAULT_COUNTS=FILE       at its end the program writes how many calls of each kind there were
//
// Kinds: open (for writing, and of folders), write, fsync, rename, link, mkdir, close (of what was written),
// new (operator new; fails with std::bad_alloc); and short (half of a write is written) and interrupted (EINTR), which
// a program must get over. Writes to standard error do not count: nobody could be told of their failure.

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

#include "copied_run.hpp"

namespace {

enum Kind { kOpen, kWrite, kFsync, kRename, kLink, kMkdir, kClose, kNew, kShort, kInterrupted, kKinds };
constexpr std::array<std::string_view, kKinds> kNames{"open",  "write", "fsync", "rename", "link",
                                                      "mkdir", "close", "new",   "short",  "interrupted"};
constexpr int kMostDescriptors = 1024;

struct WantedFault {
  int kind = -1;
  long at = 0;
  int error = 0;
  bool goes_on = false;
  bool each = false;

  WantedFault() {
    const char* text = std::getenv("PLUMB_FAULT");
    if (text == nullptr) return;
    for (int i = 0; i < kKinds; ++i) {
      const std::string_view name = kNames[static_cast<std::size_t>(i)];
      if (std::strncmp(text, name.data(), name.size()) != 0 || text[name.size()] != ':') continue;
      char* rest = nullptr;
      at = std::strtol(text + name.size() + 1, &rest, 10);
      if (*rest == ':') error = static_cast<int>(std::strtol(rest + 1, &rest, 10));
      goes_on = std::strcmp(rest, ":on") == 0;
      each = std::strcmp(rest, ":each") == 0;
      kind = i;
    }
  }
};

std::array<std::atomic<long>, kKinds> counts;
std::array<std::atomic<bool>, kMostDescriptors> written;  // descriptors that were opened for writing
std::array<std::atomic<bool>, kMostDescriptors> filled;   // those that something was written to

const WantedFault& wanted_fault() {
  static const WantedFault wanted;
  return wanted;
}

std::atomic<bool> begun = false;  // the program's main

/// Counts a call; true when it is to fail, with errno set. What happens before main is not the program's to handle.
bool fails(Kind kind) {
  if (!begun) return false;
  const long number = ++counts[kind];
  const WantedFault& wanted = wanted_fault();
  if (wanted.kind != kind) return false;
  if (wanted.each) {
    if ((number - 1) % wanted.at != 0) return false;
    begun = false;  // what the copy needs, and what the child does afterwards, does not fail
    if (!copied_run::goes_on_in_copy(number)) {
      begun = true;
      return false;
    }
  } else if (wanted.goes_on ? number < wanted.at : number != wanted.at) {
    return false;
  }
  errno = wanted.error;
  return true;
}

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

bool is_written(int descriptor) { return descriptor >= 0 && descriptor < kMostDescriptors && written[descriptor]; }

int opened(int descriptor, int flags) {
  if (descriptor >= 0 && descriptor < kMostDescriptors)
    written[descriptor] = (flags & O_ACCMODE) != O_RDONLY, filled[descriptor] = false;
  return descriptor;
}

bool counts_as_open(int flags) { return (flags & (O_ACCMODE | O_CREAT | O_DIRECTORY)) != 0; }

FILE* open_stream(const char* path, const char* mode, const char* name) {
  const bool writes = std::strpbrk(mode, "wa+") != nullptr;
  if (writes && fails(kOpen)) return nullptr;
  FILE* stream = real<FILE*(const char*, const char*)>(name)(path, mode);
  if (stream != nullptr) opened(fileno(stream), writes ? O_WRONLY : O_RDONLY);
  return stream;
}

/// What becomes of a write of `size` bytes: -1 it fails, otherwise how many bytes are written.
ssize_t allowed(int descriptor, std::size_t size) {
  if (descriptor != STDOUT_FILENO && !is_written(descriptor)) return static_cast<ssize_t>(size);
  filled[descriptor] = true;
  if (fails(kWrite) || fails(kInterrupted)) return -1;
  return static_cast<ssize_t>(fails(kShort) && size > 1 ? size / 2 : size);
}

struct Report {
  ~Report() {
    const char* path = std::getenv("PLUMB_FAULT_COUNTS");
    if (path == nullptr) return;
    const long descriptor = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    for (std::size_t i = 0; i < kKinds; ++i) {
      std::array<char, 64> line{};
      const int length = std::snprintf(line.data(), line.size(), "%s %ld\n", kNames[i].data(), counts[i].load());
      syscall(SYS_write, descriptor, line.data(), length);
    }
    syscall(SYS_close, descriptor);
  }
};
const Report report;

void* allocate(std::size_t size, std::size_t alignment) {
  if (fails(kNew)) throw std::bad_alloc();
  void* memory = alignment == 0 ? std::malloc(size)
                                : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

namespace {

using Main = int(int, char**, char**);
Main* own_main = nullptr;

int counted_main(int argc, char** argv, char** environment) {
  begun = true;
  return own_main(argc, argv, environment);
}

}  // namespace

extern "C" {

int __libc_start_main(Main* main, int argc, char** argv, void (*init)(), void (*fini)(), void (*ld_fini)(), void* end) {
  own_main = main;
  using Start = int(Main*, int, char**, void (*)(), void (*)(), void (*)(), void*);
  return real<Start>("__libc_start_main")(counted_main, argc, argv, init, fini, ld_fini, end);
}

#define PLUMB_OPEN(name)                                                                 \
  int name(const char* path, int flags, ...) {                                           \
    std::va_list rest;                                                                   \
    va_start(rest, flags);                                                               \
    const mode_t mode = va_arg(rest, mode_t);                                            \
    va_end(rest);                                                                        \
    if (counts_as_open(flags) && fails(kOpen)) return -1;                                \
    return opened(real<int(const char*, int, mode_t)>(#name)(path, flags, mode), flags); \
  }
PLUMB_OPEN(open)
PLUMB_OPEN(open64)
#undef PLUMB_OPEN

#define PLUMB_OPENAT(name)                                                                            \
  int name(int folder, const char* path, int flags, ...) {                                            \
    std::va_list rest;                                                                                \
    va_start(rest, flags);                                                                            \
    const mode_t mode = va_arg(rest, mode_t);                                                         \
    va_end(rest);                                                                                     \
    if (counts_as_open(flags) && fails(kOpen)) return -1;                                             \
    return opened(real<int(int, const char*, int, mode_t)>(#name)(folder, path, flags, mode), flags); \
  }
PLUMB_OPENAT(openat)
PLUMB_OPENAT(openat64)
#undef PLUMB_OPENAT

FILE* fopen(const char* path, const char* mode) { return open_stream(path, mode, "fopen"); }
FILE* fopen64(const char* path, const char* mode) { return open_stream(path, mode, "fopen64"); }

ssize_t write(int descriptor, const void* bytes, size_t size) {
  const ssize_t length = allowed(descriptor, size);
  if (length < 0) return -1;
  return real<ssize_t(int, const void*, size_t)>("write")(descriptor, bytes, static_cast<size_t>(length));
}

ssize_t writev(int descriptor, const iovec* parts, int count) {
  if (allowed(descriptor, 1) < 0) return -1;
  return real<ssize_t(int, const iovec*, int)>("writev")(descriptor, parts, count);
}

int fsync(int descriptor) { return fails(kFsync) ? -1 : real<int(int)>("fsync")(descriptor); }
int fdatasync(int descriptor) { return fails(kFsync) ? -1 : real<int(int)>("fdatasync")(descriptor); }

int rename(const char* from, const char* to) {
  return fails(kRename) ? -1 : real<int(const char*, const char*)>("rename")(from, to);
}

int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) {
  if (fails(kLink)) return -1;
  return real<int(int, const char*, int, const char*, int)>("linkat")(from_folder, from, to_folder, to, flags);
}

int mkdir(const char* path, mode_t mode) {
  return fails(kMkdir) ? -1 : real<int(const char*, mode_t)>("mkdir")(path, mode);
}

int close(int descriptor) {
  const bool was_written = is_written(descriptor) && filled[descriptor];
  if (is_written(descriptor)) written[descriptor] = false;
  const int status = real<int(int)>("close")(descriptor);
  return was_written && fails(kClose) ? -1 : status;  // a descriptor is gone even when close fails
}

}  // extern "C"

void* operator new(std::size_t size) { return allocate(size, 0); }
void* operator new[](std::size_t size) { return allocate(size, 0); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
