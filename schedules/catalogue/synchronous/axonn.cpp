#include <algorithm>

#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/policy_player.hpp"

namespace plumb {

/// Message driven: a device runs whatever arrives, an activation forward or a gradient backward, in order of arrival.
/// The first device lets `limit` microbatches in (default p), then one more for every backward that it finishes; the
/// last one runs the backward right after its forward. With `order=run-time` the document says that rule; otherwise it
/// is played through with the given costs (without: F = 1, B = 2) and frozen to the order that comes about.
/// Every device keeps at most min(p, m) activations. Any p and m.
/// (Singh and Bhatele, AxoNN, arXiv 2110.13005; released code, inter_layer.py)
///
///   p = 3, m = 4
///   d0: 0F0 0F1 0F2 0B0 0F3 0B1 0B2 0B3 0U0
///   d1: 1F0 1F1 1F2 1B0 1B1 1F3 1B2 1B3 1U0
///   d2: 2F0 2B0 2F1 2B1 2F2 2B2 2F3 2B3 2U0
Schedule axonn(const ScheduleParams& params) {
  require_one_chunk("axonn", params);
  const std::int64_t limit = whole_number("axonn", params, "limit", params.num_devices);
  Schedule schedule = looped_schedule("axonn", params, 1, updates_or(params, 1));
  schedule.parameters["limit"] = limit;
  RunTimePolicy policy;
  policy.choice = RunTimePolicy::Choice::kArrival;
  policy.priorities = {Op::kB, Op::kF};
  policy.limits.assign(static_cast<std::size_t>(params.num_devices),
                       schedule.num_microbatches);  // as many as there are
  policy.limits.front() = std::min(limit, schedule.num_microbatches);
  policy.limits.back() = 1;
  decide_by("axonn", params, policy, schedule);
  return schedule;
}

}  // namespace plumb
