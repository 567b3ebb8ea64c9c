#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace plumb {

/// Returns the bytes that this process can still get: the smallest of what the machine has left (/proc/meminfo, swap
/// included), what the control groups of the process allow (memory limits of a container or job), and what the shell
/// allows
/// (`ulimit -v` and `-d`). Nothing where none of them is known. `root` stands before /proc and /sys, for tests.
std::optional<std::int64_t> available_memory(const std::filesystem::path& root = "/");

}  // namespace plumb
