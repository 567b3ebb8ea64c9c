#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "schedules/catalogue/asynchronous/flush_free.hpp"
#include "schedules/catalogue/replicas_option.hpp"

namespace plumb {
namespace {

constexpr std::string_view kRoundRobin = "1f1b-rr";

/// Devices of every stage; without the option all but one of them hold the first of two stages.
std::vector<std::int64_t> replicas_of(const ScheduleParams& params) {
  std::vector<std::int64_t> replicas = replicas_option(kRoundRobin, params);
  if (!replicas.empty()) return replicas;
  const std::int64_t p = params.num_devices;
  return p == 1 ? std::vector<std::int64_t>{1} : std::vector<std::int64_t>{p - 1, 1};
}

/// Smallest number of microbatches after which every stage stands at its first device again.
std::int64_t round_of(const std::vector<std::int64_t>& replicas) {
  std::int64_t round = 1;
  for (const std::int64_t count : replicas) {
    const std::int64_t factor = count / std::gcd(round, count);
    require(factor <= kMostMicrobatches / round, kRoundRobin, "the least common multiple of the replicas is too large");
    round *= factor;
  }
  return round;
}

}  // namespace

/// 1F1B over replicated stages: a stage held by r devices gives them its microbatches in turn (k to number k mod r);
/// the backward goes to the device of the forward. A device warms up with floor((p - 1 - devices before its stage) / r)
/// forwards, and its stage updates, its copies' gradients added up, after every m-th backward of each copy: every
/// m r microbatches, so stages update at their own pace. Backwards read what their forward read.
/// Here m is microbatches of one device per update (the paper: 1), and `updates` counts those of the least common
/// multiple of all r. `replicas=2-1-1`: devices of each stage, default (p-1)-1. Device keeps warm-up + 1 activations.
/// (Narayanan et al., PipeDream, arXiv 1806.03377, section 3.2; warm-up as in its released runtime)
///
///   p = 3, m = 1, replicas=2-1, updates=2 (reductions left out)
///   d0: 0F0 0F2 0B0 0U0 0B2 0U1
///   d1: 0F1 0F3 0B1 0U0 0B3 0U1
///   d2: 1F0 1B0 1U0 1F1 1B1 1U1 1F2 1B2 1U2 1F3 1B3 1U3
Schedule one_f_one_b_rr(const ScheduleParams& params) {
  require_one_chunk(kRoundRobin, params);
  const std::vector<std::int64_t> replicas = replicas_of(params);
  const std::int64_t round = round_of(replicas);
  const std::int64_t m = params.num_microbatches;
  require(m <= kMostMicrobatches / round, kRoundRobin,
          "num_microbatches (" + std::to_string(m) + ") must be at most " + std::to_string(kMostMicrobatches / round));
  ScheduleParams all = params;
  all.num_microbatches = m * round;
  const std::int64_t updates = steady_updates(all, params.num_devices);
  Schedule schedule = looped_schedule(kRoundRobin, all, 1, updates);
  schedule.num_stages = static_cast<std::int32_t>(replicas.size());
  schedule.parameters["m"] = m;
  schedule.parameters["updates"] = updates;
  schedule.weights.policy = WeightPolicy::kStash;
  schedule.placement.assign(1, {});
  schedule.microbatches_per_update.clear();
  std::int32_t device = 0;
  for (const std::int64_t count : replicas) {
    const StageId stage{static_cast<std::int32_t>(schedule.placement[0].size())};
    const std::int64_t warmup = (params.num_devices - 1 - device) / count;
    schedule.microbatches_per_update.push_back(m * count);
    std::vector<DeviceId>& holders = schedule.placement[0].emplace_back();
    for (std::int64_t copy = 0; copy < count; ++copy) {
      ListBuilder list;
      add_turns(list, {.stage = stage,
                       .microbatches = schedule.num_microbatches / count,
                       .per_update = m,
                       .warmup = warmup,
                       .first = copy,
                       .stride = count,
                       .reduces = count > 1});
      schedule.devices.push_back(list.take());
      holders.push_back(DeviceId{device++});
    }
  }
  if (std::ranges::count(replicas, replicas.front()) == std::ssize(replicas))
    schedule.microbatches_per_update.resize(1);
  return schedule;
}

}  // namespace plumb
