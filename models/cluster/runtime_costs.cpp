#include "models/cluster/runtime_costs.hpp"

#include "models/ground/time_at_size.hpp"

namespace plumb {

CallCosts calls_of(std::span<const CallCosts> calls, std::int64_t bytes) {
  if (calls.empty()) return {.bytes = bytes};
  const auto around = around_size(calls, bytes);
  const auto low = around.first;  // no structured binding: clang 14 does not capture them
  const auto high = around.second;
  const auto at = [&](std::int64_t CallCosts::*time) {
    return time_at_size({low->bytes, low->*time}, {high->bytes, high->*time}, bytes);
  };
  return {bytes, at(&CallCosts::send_ns), at(&CallCosts::send_posted_ns), at(&CallCosts::receive_ns)};
}

}  // namespace plumb
