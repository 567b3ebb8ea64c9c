#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>

#include <sys/types.h>

/// The calls that change what is on disk. Whatever a command writes goes through them, so that a test can make each of
/// them fail. Every function returns 0, or the reason of its failure (a value of errno).
namespace plumb::disk {

enum class Call { kOpen, kWrite, kFlush, kClose, kLink, kRename, kRemove, kMakeFolder };

/// Asked before every call: 0 lets it happen, anything else is the reason for which it fails without being made.
using Fault = std::function<int(Call call, const std::filesystem::path& path)>;

/// Replaces the fault that is asked; an empty one makes none. For tests, while no other thread writes.
void set_fault(Fault fault);

/// Opens or creates as open(2) does, closed in programs that this one starts. `descriptor` is -1 after a failure.
int open(const std::filesystem::path& path, int flags, mode_t mode, int& descriptor);

/// Writes all of `bytes`. `path` tells a fault what the descriptor belongs to; here and below it is used for nothing
/// else.
int write_all(int descriptor, std::span<const std::byte> bytes, const std::filesystem::path& path);
int write_all(int descriptor, std::string_view text, const std::filesystem::path& path);

/// Waits until what was written is on the disk. A file system that cannot do that is no failure.
int flush(int descriptor, const std::filesystem::path& path);

/// Closes the descriptor, which is then -1 in any case.
int close(int& descriptor, const std::filesystem::path& path);

/// Gives an open file without a name (O_TMPFILE) this one.
int name_unnamed(int descriptor, const std::filesystem::path& path);

int rename(const std::filesystem::path& from, const std::filesystem::path& to);

/// Removes a file, or a folder with everything in it; what is not there is no failure.
int remove(const std::filesystem::path& path);

/// Makes a folder and those above it, and waits until their entries are on the disk; one that is there is no failure.
int make_folder(const std::filesystem::path& path);

/// Waits until the entries of a folder (new files, new names) are on the disk. A folder that may not be read cannot be
/// waited for, which is no failure.
int flush_folder(const std::filesystem::path& path);

}  // namespace plumb::disk
