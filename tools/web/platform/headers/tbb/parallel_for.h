// What Plumbline uses of oneTBB, on one thread.
#pragma once

namespace tbb {

/// Calls `body` with first, first + 1, ..., last - 1.
template <class Index, class Body>
void parallel_for(Index first, Index last, const Body& body) {
  for (Index at = first; at < last; ++at) body(at);
}

}  // namespace tbb
