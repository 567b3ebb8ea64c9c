#include <algorithm>
#include <string>

#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/pass_costs.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/program/list_times.hpp"

namespace plumb {
namespace {

Schedule grouped(ScheduleParams params, std::int64_t k) {
  params.options["k"] = std::to_string(k);
  return generate_by_rules(schedule_named("kfkb"), params);
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

/// By its rules; `k=auto`: the k of 1, 2, 4 .. m with the shortest step for the given costs and memory limit.
Schedule kfkb(const ScheduleParams& params) {
  require_one_chunk("kfkb", params);
  const auto option = params.options.find("k");
  const bool searched = option != params.options.end() && option->second == "auto";
  return searched ? grouped(params, best_group(params)) : generate_by_rules(schedule_named("kfkb"), params);
}

}  // namespace plumb
