#pragma once

#include <cstdint>
#include <vector>

namespace plumb {

/// A state in which a microbatch may be on a device: what the device then keeps of it, and what it counts for.
struct MicrobatchState {
  std::int64_t stash = 0;
  std::int64_t value = 0;
};

/// At least the largest sum of values of `count` microbatches, each in one of `states` (or in none: 0, 0), whose
/// stashes add up to at most `limit`. Exact with one state, or with two and small counts; otherwise the optimum of the
/// linear programme that allows fractions of microbatches: its two constraints (count and limit) leave at most two
/// states in a vertex, so all pairs of states are tried.
std::int64_t most_value(std::vector<MicrobatchState> states, std::int64_t count, std::int64_t limit);

}  // namespace plumb
