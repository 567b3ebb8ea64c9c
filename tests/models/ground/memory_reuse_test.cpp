#include "models/ground/memory_reuse.hpp"

#include <sys/resource.h>

#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/sanitized.hpp"

TEST_SUITE_BEGIN("models");

namespace {

/// Page faults of this process so far that needed no disk.
long page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

/// Allocates and writes as much as a large timeline has, and frees it.
void use_memory() {
  constexpr std::size_t kBytes = std::size_t{48} << 20U;
  std::vector<char> large(kBytes, 1);
  volatile char last = large.back();
  static_cast<void>(last);
}

}  // namespace

TEST_CASE("memory that is kept is not faulted in again, and can be given back") {
  if (plumb::testing::kSanitizerAllocates) return;  // another allocator
  const bool keeps = plumb::keep_freed_memory();
#if defined(__GLIBC__)
  CHECK(keeps);
#endif
  if (!keeps) return;
  use_memory();
  const long before = page_faults();
  for (int call = 0; call < 5; ++call) use_memory();
  CHECK(page_faults() - before < 1000);  // 48 MiB have 12288 pages
  CHECK(plumb::release_freed_memory());
  const long released = page_faults();
  use_memory();
  CHECK(page_faults() - released > 10);
}

TEST_SUITE_END();
