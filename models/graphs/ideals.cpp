#include "models/graphs/ideals.hpp"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "models/ground/error.hpp"

namespace plumb {

std::vector<NodeSet> ideals(const std::vector<std::vector<std::int32_t>>& before, std::size_t most) {
  const std::size_t n = before.size();
  std::vector<NodeSet> needs(n, NodeSet(n));
  for (std::size_t k = 0; k < n; ++k) {
    for (const std::int32_t p : before[k]) needs[k].add(static_cast<std::size_t>(p));
  }
  // All of one size at a time: every ideal is one of a node less, and a node that may be added.
  std::vector<NodeSet> all{NodeSet(n)};
  for (std::size_t begin = 0, end = 1; begin < end; begin = end, end = all.size()) {
    std::unordered_set<NodeSet, NodeSetHash> next;
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t k = 0; k < n; ++k) {
        if (all[i].has(k) || !needs[k].is_subset_of(all[i])) continue;
        NodeSet larger = all[i];
        larger.add(k);
        next.insert(std::move(larger));
      }
      if (all.size() + next.size() > most) {
        throw Error("the graph branches too much: it has more than " + std::to_string(most) +
                    " ways to be cut in two, expected fewer (another method works on a chain)");
      }
    }
    const std::size_t old = all.size();
    all.insert(all.end(), next.begin(), next.end());
    const auto words_less = [](const NodeSet& a, const NodeSet& b) {
      return std::lexicographical_compare(a.words().begin(), a.words().end(), b.words().begin(), b.words().end());
    };
    std::sort(all.begin() + static_cast<std::ptrdiff_t>(old), all.end(), words_less);
  }
  return all;
}

}  // namespace plumb
