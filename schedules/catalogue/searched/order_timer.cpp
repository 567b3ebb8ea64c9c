#include "schedules/catalogue/searched/order_timer.hpp"

#include <algorithm>

#include "schedules/program/lane_run.hpp"

namespace plumb {

OrderTimer::OrderTimer(const OrderProblem& problem)
    : problem_(problem),
      lanes_(static_cast<std::size_t>(problem.num_devices)),
      ends_(static_cast<std::size_t>(problem.size())) {}

bool OrderTimer::run(const std::vector<OrderWord>& words) {
  for (Lane& lane : lanes_) lane = {};
  run_in_turns(lanes_.size(), [&](std::size_t d) { return step(static_cast<std::int32_t>(d), words[d]); });
  for (std::size_t d = 0; d < lanes_.size(); ++d) {
    if (lanes_[d].next < words[d].size()) return false;
  }
  return true;
}

bool OrderTimer::step(std::int32_t device, const OrderWord& word) {
  Lane& own = lanes_[static_cast<std::size_t>(device)];
  if (own.next == word.size()) return false;
  const std::int32_t kind = word[own.next];
  const OrderProblem::Pass& pass = problem_.pass(device, kind);
  const std::int32_t microbatch = own.counts[kind];
  Ticks start = own.clock;
  if (pass.device >= 0) {
    if (lane(pass.device).counts[pass.kind] <= microbatch) return false;
    start = std::max(start, end_of(pass.device, pass.kind, microbatch) + pass.delay);
  }
  if (own.next++ == 0) own.first_start = start;
  own.clock = start + pass.time;
  end_of(device, kind, microbatch) = own.clock;
  ++own.counts[kind];
  return true;
}

Ticks OrderTimer::longest_device_span() const {
  Ticks longest = 0;
  for (const Lane& lane : lanes_) longest = std::max(longest, lane.clock - lane.first_start);
  return longest;
}

bool is_possible(const OrderProblem& problem, const std::vector<OrderWord>& words) {
  if (words.size() != static_cast<std::size_t>(problem.num_devices)) return false;
  for (std::int32_t d = 0; d < problem.num_devices; ++d) {
    std::int64_t stash = 0;
    std::vector<std::int32_t> counts(static_cast<std::size_t>(problem.kinds));
    for (const std::uint8_t kind : words[static_cast<std::size_t>(d)]) {
      stash += problem.pass(d, kind).stash;
      if (stash > problem.limit(d) && problem.pass(d, kind).stash > 0) return false;
      ++counts[kind];
    }
    if (std::any_of(counts.begin(), counts.end(), [&](std::int32_t n) { return n != problem.num_microbatches; })) {
      return false;
    }
  }
  return OrderTimer(problem).run(words);
}

}  // namespace plumb
