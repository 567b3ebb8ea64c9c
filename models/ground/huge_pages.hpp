#pragma once

#include <cstddef>
#include <vector>

namespace plumb {

/// Asks for huge pages under memory that nothing has touched yet. An array of one entry per action costs more in page
/// faults than in use. Only a wish: does nothing where the system has none.
void prefer_huge_pages(void* begin, std::size_t bytes);

/// `vector.reserve(size)`, in huge pages where the vector was empty.
template <class T>
void reserve_huge(std::vector<T>& vector, std::size_t size) {
  const bool fresh = vector.capacity() == 0;
  vector.reserve(size);
  if (fresh) prefer_huge_pages(vector.data(), vector.capacity() * sizeof(T));
}

}  // namespace plumb
