#include "models/ground/memory_reuse.hpp"

#if defined(__linux__)
#include <malloc.h>
#endif

namespace plumb {

bool keep_freed_memory() {
#if defined(__GLIBC__)
  constexpr int kNever = 0x7fffffff;              // bytes that must be free at the top of the heap before it shrinks
  constexpr int kGrowthBytes = 64 * 1024 * 1024;  // by which the heap grows: as few calls of the system
  return mallopt(M_MMAP_MAX, 0) == 1 && mallopt(M_TRIM_THRESHOLD, kNever) == 1 && mallopt(M_TOP_PAD, kGrowthBytes) == 1;
#else
  return false;
#endif
}

bool release_freed_memory() {
#if defined(__GLIBC__)
  return malloc_trim(0) == 1;
#else
  return false;
#endif
}

}  // namespace plumb
