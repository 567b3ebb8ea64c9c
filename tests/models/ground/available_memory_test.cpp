#include "models/ground/available_memory.hpp"

#include <doctest/doctest.h>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/scratch_directory.hpp"

TEST_SUITE_BEGIN("models");

using namespace plumb;
using plumb::testing::ScratchDirectory;

namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

void put(const ScratchDirectory& root, const std::string& path, const std::string& text) {
  const auto file = root.path() / path;
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

}  // namespace

TEST_CASE("available memory is the least of what the machine, the control groups and their parents leave") {
  const ScratchDirectory root;
  put(root, "proc/meminfo", "MemTotal: 9000000 kB\nMemAvailable:    4096 kB\nSwapFree: 1024 kB\n");
  CHECK(available_memory(root.path()) == 5 * kMiB);
  put(root, "proc/self/cgroup", "0::/a/b\n");
  put(root, "sys/fs/cgroup/a/b/memory.max", "max\n");
  put(root, "sys/fs/cgroup/a/b/memory.current", "1000\n");
  CHECK(available_memory(root.path()) == 5 * kMiB);
  put(root, "sys/fs/cgroup/a/memory.max", std::to_string(3 * kMiB) + "\n");
  put(root, "sys/fs/cgroup/a/memory.current", std::to_string(2 * kMiB) + "\n");
  CHECK(available_memory(root.path()) == kMiB);
  put(root, "sys/fs/cgroup/a/memory.stat", "anon 5\ninactive_file 1000\n");
  CHECK(available_memory(root.path()) == kMiB + 1000);
  put(root, "sys/fs/cgroup/a/b/memory.max", "10\n");
  CHECK(available_memory(root.path()) == 0);
}

TEST_CASE("control groups of version 1 count, too") {
  const ScratchDirectory root;
  put(root, "proc/self/cgroup", "5:cpu:/other\n4:memory:/job\n");
  put(root, "sys/fs/cgroup/memory/job/memory.limit_in_bytes", "700\n");
  put(root, "sys/fs/cgroup/memory/job/memory.usage_in_bytes", "200\n");
  CHECK(available_memory(root.path()) == 500);
}

TEST_CASE("what `ulimit` leaves of address space and of data counts, less what the process has already") {
  const ScratchDirectory root;
  put(root, "proc/self/status", "VmSize:\t 1024 kB\nVmData:\t  512 kB\n");
  /// The answer of a process of its own, which alone has the limit.
  const auto left_under = [&](auto kind, rlim_t most) {
    const pid_t child = fork();
    if (child == 0) {
      const rlimit limit{.rlim_cur = most, .rlim_max = RLIM_INFINITY};
      const bool is_set = setrlimit(kind, &limit) == 0;
      const auto left = available_memory(root.path());
      _exit(is_set && left ? static_cast<int>(*left / (std::int64_t{16} * kMiB)) : 255);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  const auto most = static_cast<rlim_t>(1600 * kMiB);
  CHECK(left_under(RLIMIT_AS, most + kMiB) == 100);
  CHECK(left_under(RLIMIT_DATA, most + kMiB / 2) == 100);
  CHECK(left_under(RLIMIT_DATA, most + kMiB / 2 - 1) == 99);
}
