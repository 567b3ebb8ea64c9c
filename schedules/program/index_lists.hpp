#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace plumb {

/// Lists of indices, one per key: `of(key)` is `items[begin[key], begin[key + 1])`.
struct IndexLists {
  std::vector<std::uint32_t> begin;
  std::vector<std::uint32_t> items;

  std::span<const std::uint32_t> of(std::size_t key) const {
    return std::span(items).subspan(begin[key], begin[key + 1] - begin[key]);
  }
};

/// The items 0 .. `count` - 1 by `key(item)` < `keys`, ascending within a key.
template <class Key>
IndexLists group_by(std::size_t count, std::size_t keys, Key&& key) {
  IndexLists lists;
  lists.begin.assign(keys + 1, 0);
  lists.items.resize(count);
  for (std::size_t item = 0; item < count; ++item) ++lists.begin[key(item) + 1];
  for (std::size_t k = 0; k < keys; ++k) lists.begin[k + 1] += lists.begin[k];
  std::vector<std::uint32_t> next(lists.begin.begin(), lists.begin.end() - 1);
  for (std::size_t item = 0; item < count; ++item) {
    lists.items[next[key(item)]++] = static_cast<std::uint32_t>(item);
  }
  return lists;
}

}  // namespace plumb
