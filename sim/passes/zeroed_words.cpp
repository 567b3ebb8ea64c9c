#include "sim/passes/zeroed_words.hpp"

#include <cstdlib>
#include <new>

#include "models/ground/huge_pages.hpp"

namespace plumb {

ZeroedWords::ZeroedWords(std::size_t size) {
  // Large blocks of calloc are fresh pages of the system: zero already, and untouched until they are used.
  void* block = std::calloc(size == 0 ? 1 : size, sizeof(std::int64_t));
  if (block == nullptr) throw std::bad_alloc();
  words_.reset(static_cast<std::int64_t*>(block));
  prefer_huge_pages(block, size * sizeof(std::int64_t));
}

void ZeroedWords::Free::operator()(std::int64_t* words) const { std::free(words); }

}  // namespace plumb
