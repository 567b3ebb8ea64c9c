#pragma once

#include <cstdint>
#include <vector>

#include "schedules/catalogue/searched/order_problem.hpp"

namespace plumb {

/// Local search: exchanges two passes that follow each other on a device, or moves one over several, while that
/// shortens the longest device span (or, at the same length, the sum of all spans). `words` must be possible. Ends
/// when no step helps, when the span is at most `enough`, or when it has timed `budget` passes. Returns the longest
/// device span.
Ticks improve_by_steps(const OrderProblem& problem, std::vector<OrderWord>& words, Ticks enough, std::int64_t budget);

}  // namespace plumb
