#include <algorithm>
#include <string>

#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/pass_costs.hpp"
#include "schedules/program/list_times.hpp"

namespace plumb {
namespace {

/// Writes one device's step: 1f1b over groups of k consecutive microbatches, the last of which may be shorter.
class GroupWriter {
 public:
  GroupWriter(ListBuilder& list, StageId stage, std::int64_t m, std::int64_t k)
      : list_(list), stage_(stage), m_(m), k_(k), groups_((m + k - 1) / k) {}

  void write(std::int64_t ahead) const {
    const std::int64_t warmup = std::min(ahead, groups_) - 1;
    const std::int64_t pairs = groups_ - warmup - 1;
    const Advance next{.microbatch = static_cast<std::int32_t>(k_)};
    list_.repeat(warmup, next, [&] { group(Op::kF, 0); });
    list_.repeat(pairs, next, [&] {
      group(Op::kF, warmup);
      group(Op::kB, 0);
    });
    group(Op::kF, groups_ - 1);
    list_.repeat(warmup, next, [&] { group(Op::kB, pairs); });
    group(Op::kB, groups_ - 1);
    list_.add(stage_, Op::kU, 0);
  }

 private:
  void group(Op op, std::int64_t number) const {
    const std::int64_t first = number * k_;
    list_.each(std::min(k_, m_ - first), [&] { list_.add(stage_, op, first); });
  }

  ListBuilder& list_;
  StageId stage_;
  std::int64_t m_;
  std::int64_t k_;
  std::int64_t groups_;
};

Schedule grouped(const ScheduleParams& params, std::int64_t k) {
  const std::int64_t updates = updates_or(params, 1);
  Schedule schedule = looped_schedule("kfkb", params, 1, updates);
  schedule.parameters["k"] = k;
  for (std::int32_t d = 0; d < params.num_devices; ++d) {
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      GroupWriter(list, StageId{d}, params.num_microbatches, k).write(params.num_devices - d);
    }));
  }
  return schedule;
}

/// Whether the activations of every device stay below the limit.
bool fits(const ScheduleParams& params, const PassCosts& costs, std::int64_t k) {
  for (std::int64_t d = 0; d < params.num_devices; ++d) {
    const std::int64_t kept = std::min(k * (params.num_devices - d), params.num_microbatches);
    if (kept * costs.stages[static_cast<std::size_t>(d)].f.stash > costs.limit) return false;
  }
  return true;
}

/// Of 1, 2, 4 .. m that fit into memory the one with the shortest step, the smallest of equals. Long steps are judged
/// by their first kJudged actions.
std::int64_t best_group(ScheduleParams params) {
  constexpr std::int64_t kJudged = 1 << 15;
  const PassCosts costs = pass_costs(params, params.num_devices);
  const auto duration = [&](const Action& action) -> Ticks {
    const StagePasses& passes = costs.stages[index(action.stage)];
    return action.op == Op::kF ? passes.f.time : action.op == Op::kB ? passes.i.time + passes.w.time : 0;
  };
  require(fits(params, costs, 1), "kfkb", "memory limit leaves no room for k = 1");
  ScheduleParams judged = params;
  judged.updates = 1;
  judged.num_microbatches =
      std::min(params.num_microbatches, std::max<std::int64_t>(kJudged / params.num_devices, 2 * params.num_devices));
  std::int64_t best = 1;
  Ticks shortest = list_times(grouped(judged, 1), duration, costs.comm).makespan;
  for (std::int64_t k = 2; k / 2 < judged.num_microbatches; k *= 2) {
    const std::int64_t candidate = std::min(k, judged.num_microbatches);
    if (!fits(params, costs, candidate)) break;
    const Ticks makespan = list_times(grouped(judged, candidate), duration, costs.comm).makespan;
    if (makespan < shortest) best = candidate;
    shortest = std::min(shortest, makespan);
  }
  return best;
}

}  // namespace

/// 1f1b over groups of k microbatches: every forward and backward of it becomes k in a row, so that the transfer of
/// one overlaps the compute of the next. k = 1 is 1f1b, k = m is GPipe. The last group may be shorter. Device d
/// keeps at most min(k (p - d), m) activations. Any p and m; `k=K` (default 2, at most m), or `k=auto`: the k of 1, 2,
/// 4 .. m with the shortest step for the given costs and memory limit.
/// (Ada-Grouper: Wang et al., arXiv 2303.01675, which picks k again and again from the transfer times that it sees)
///
///   p = 2, m = 6, k = 2
///   d0: 0F0 0F1 0F2 0F3 0B0 0B1 0F4 0F5 0B2 0B3 0B4 0B5 0U0
///   d1: 1F0 1F1 1B0 1B1 1F2 1F3 1B2 1B3 1F4 1F5 1B4 1B5 1U0
Schedule kfkb(const ScheduleParams& params) {
  require_one_chunk("kfkb", params);
  const auto option = params.options.find("k");
  if (option != params.options.end() && option->second == "auto") return grouped(params, best_group(params));
  const std::int64_t m = params.num_microbatches;
  const std::int64_t k = whole_number("kfkb", params, "k", std::min<std::int64_t>(2, m));
  require(k <= m, "kfkb", "k (" + std::to_string(k) + ") must be at most num_microbatches (" + std::to_string(m) + ")");
  return grouped(params, k);
}

}  // namespace plumb
