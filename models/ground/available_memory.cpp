#include "models/ground/available_memory.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>

namespace plumb {
namespace {

// Paths are strings: joining two std::filesystem::path breaks the first one when memory runs out (libstdc++ 12).

/// Returns the number in a file that holds one; nothing where it is missing or says "max".
std::optional<std::int64_t> number_in(const std::string& file) {
  std::ifstream in(file);
  std::int64_t number = 0;
  if (in >> number) return number;
  return std::nullopt;
}

/// Returns the number after `key` at the beginning of a line.
std::optional<std::int64_t> number_after(const std::string& file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(key)) return std::strtoll(line.c_str() + key.size(), nullptr, 10);
  }
  return std::nullopt;
}

void keep_least(std::optional<std::int64_t>& least, std::int64_t bytes) {
  least = std::min(least.value_or(bytes), std::max<std::int64_t>(0, bytes));
}

/// A group may use its limit, and pages of files in it can be given up.
void note_group(const std::string& folder, const char* limit, const char* usage, std::optional<std::int64_t>& least) {
  const auto most = number_in(folder + limit);
  const auto used = number_in(folder + usage);
  if (!most || !used) return;
  keep_least(least, *most - *used + number_after(folder + "/memory.stat", "inactive_file ").value_or(0));
}

/// The group of the process and all above it, in version 2 (one hierarchy) and version 1 (a memory controller).
void note_groups(const std::string& root, std::optional<std::int64_t>& least) {
  std::ifstream in(root + "/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const bool second = line.starts_with("0::");
    if (!second && line.find(":memory:") == std::string::npos) continue;
    const std::string top = root + (second ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory");
    std::string group = line.substr(line.rfind(':') + 1);  // begins with a slash, which is all of the highest one
    for (bool more = true; more; group.erase(std::min(group.rfind('/'), group.size()))) {
      while (group.ends_with('/')) group.pop_back();
      more = !group.empty();
      if (second) note_group(top + group, "/memory.max", "/memory.current", least);
      if (!second) note_group(top + group, "/memory.limit_in_bytes", "/memory.usage_in_bytes", least);
    }
  }
}

}  // namespace

std::optional<std::int64_t> available_memory(const std::filesystem::path& root) {
  constexpr std::int64_t kKiB = 1024;
  std::optional<std::int64_t> least;
  const std::string& base = root.native();
  const std::string meminfo = base + "/proc/meminfo";
  if (const auto free = number_after(meminfo, "MemAvailable:")) {
    keep_least(least, kKiB * (*free + number_after(meminfo, "SwapFree:").value_or(0)));
  }
  note_groups(base, least);
  const auto note_limit = [&](auto kind, const char* used_as) {
    rlimit limit{};
    if (getrlimit(kind, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
    const std::int64_t used = kKiB * number_after(base + "/proc/self/status", used_as).value_or(0);
    keep_least(least, static_cast<std::int64_t>(std::min<rlim_t>(limit.rlim_cur, INT64_MAX)) - used);
  };
  note_limit(RLIMIT_AS, "VmSize:");
  note_limit(RLIMIT_DATA, "VmData:");
  return least;
}

}  // namespace plumb
