#include "sim/zeroed_words.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace plumb {
namespace {

constexpr std::size_t kHugePage = std::size_t{1} << 21U;

}  // namespace

ZeroedWords::ZeroedWords(std::size_t size) {
  // Large blocks of calloc are fresh pages of the system: zero already, and untouched until they are used.
  void* block = std::calloc(size == 0 ? 1 : size, sizeof(std::int64_t));
  if (block == nullptr) throw std::bad_alloc();
  words_.reset(static_cast<std::int64_t*>(block));
#ifdef MADV_HUGEPAGE
  const auto begin = (reinterpret_cast<std::uintptr_t>(block) + kHugePage - 1) / kHugePage * kHugePage;
  const auto end = (reinterpret_cast<std::uintptr_t>(block) + size * sizeof(std::int64_t)) / kHugePage * kHugePage;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);  // a wish; failing is fine
#endif
}

void ZeroedWords::Free::operator()(std::int64_t* words) const { std::free(words); }

}  // namespace plumb
