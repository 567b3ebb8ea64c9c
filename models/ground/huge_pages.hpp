#pragma once

#include <cstddef>
#include <vector>

namespace plumb {

/// Asks for huge pages under memory that nothing has touched yet. For an array with one entry
/// per action, page faults cost more than the use of it. Does nothing if the system has no huge pages.
void prefer_huge_pages(void* begin, std::size_t bytes);

/// `vector.reserve(size)`, in huge pages if the vector was empty.
template <class T>
void reserve_huge(std::vector<T>& vector, std::size_t size) {
  const bool fresh = vector.capacity() == 0;
  vector.reserve(size);
  if (fresh) prefer_huge_pages(vector.data(), vector.capacity() * sizeof(T));
}

}  // namespace plumb
