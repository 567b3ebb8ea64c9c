#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace plumb {

/// A set of small numbers, one bit each; the size of the universe is fixed at construction.
class NodeSet {
 public:
  NodeSet() = default;
  explicit NodeSet(std::size_t universe) : words_((universe + 63) / 64, 0) {}

  bool has(std::size_t k) const { return ((words_[k >> 6U] >> (k & 63U)) & 1U) != 0; }
  void add(std::size_t k) { words_[k >> 6U] |= std::uint64_t{1} << (k & 63U); }
  void remove(std::size_t k) { words_[k >> 6U] &= ~(std::uint64_t{1} << (k & 63U)); }

  NodeSet& operator|=(const NodeSet& other) {
    for (std::size_t w = 0; w < words_.size(); ++w) words_[w] |= other.words_[w];
    return *this;
  }
  NodeSet& operator-=(const NodeSet& other) {
    for (std::size_t w = 0; w < words_.size(); ++w) words_[w] &= ~other.words_[w];
    return *this;
  }

  bool is_subset_of(const NodeSet& other) const {
    for (std::size_t w = 0; w < words_.size(); ++w) {
      if ((words_[w] & ~other.words_[w]) != 0) return false;
    }
    return true;
  }
  bool meets(const NodeSet& other) const {
    for (std::size_t w = 0; w < words_.size(); ++w) {
      if ((words_[w] & other.words_[w]) != 0) return true;
    }
    return false;
  }
  std::size_t count() const {
    std::size_t sum = 0;
    for (const std::uint64_t word : words_) sum += static_cast<std::size_t>(std::popcount(word));
    return sum;
  }

  /// Calls `visit(k)` for every member, ascending.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t w = 0; w < words_.size(); ++w) {
      for (std::uint64_t word = words_[w]; word != 0; word &= word - 1) {
        visit(w * 64 + static_cast<std::size_t>(std::countr_zero(word)));
      }
    }
  }

  std::span<const std::uint64_t> words() const { return words_; }
  friend bool operator==(const NodeSet&, const NodeSet&) = default;

 private:
  std::vector<std::uint64_t> words_;
};

struct NodeSetHash {
  std::size_t operator()(const NodeSet& set) const {
    std::uint64_t hash = 0x9E3779B97F4A7C15U;
    for (const std::uint64_t word : set.words()) {
      hash ^= word;
      hash *= 0xD6E8FEB86659FD93U;
      hash ^= hash >> 32U;
    }
    return static_cast<std::size_t>(hash);
  }
};

}  // namespace plumb
