#include "models/ground/huge_pages.hpp"

#include <cstdint>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace plumb {

void prefer_huge_pages([[maybe_unused]] void* begin, [[maybe_unused]] std::size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  constexpr std::size_t kHugePage = std::size_t{1} << 21U;
  const std::size_t skipped = (kHugePage - reinterpret_cast<std::uintptr_t>(begin) % kHugePage) % kHugePage;
  if (bytes < skipped + kHugePage) return;
  madvise(static_cast<char*>(begin) + skipped, (bytes - skipped) / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
}

}  // namespace plumb
