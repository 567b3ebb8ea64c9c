#pragma once

#include <cstdint>
#include <vector>

#include "schedules/catalogue/searched/order_problem.hpp"

namespace plumb {

/// What is known of the shortest longest device span of a problem: an order that has `found`, and a proof that no order
/// has less than `bound`. Equal: that order is optimal.
struct ProvedOrder {
  std::vector<OrderWord> words{};
  Ticks found = 0;
  Ticks bound = 0;
};

/// Branch and bound: raises `known.bound`, and improves the order, until they meet or `states` states have been
/// visited.
///
/// To decide whether an order of at most a given span exists, the passes are placed one after another: of the devices
/// that do not wait for an input which is not placed yet, the one that is free first takes each kind in turn that its
/// memory and its own passes allow, or waits for it. Every order is reached, and given up only when
///
/// * its span would be too long: every device has its remaining passes before it, and the last pass of every kind of
///   the chain follows the last one of the kind before it and all earlier kinds of its device;
/// * a W that could run before a pass while the device waits for that pass's input runs later: earlier, it would delay
///   nothing and only free memory;
/// * a W runs right before a pass whose input is there when that W starts, though memory would allow the pass first:
///   after it, the W would end at the same time;
/// * all counts, times and open values are those of a state that was searched in vain. (States are told apart by
///   128-bit hashes.)
///
/// The second and the third exchange each make the sum of the start times of the chain's passes, or at the same sum
/// that of W, smaller, so the order with the smallest sums of all that are short enough is not given up.
ProvedOrder prove_order(const OrderProblem& problem, ProvedOrder known, std::int64_t states);

}  // namespace plumb
