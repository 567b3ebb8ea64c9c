#include "sim/plan_search/placed_schedule.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "models/costs/longest_edge.hpp"
#include "models/ground/error.hpp"
#include "schedules/catalogue/pipeline_copies.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/lowering/lower.hpp"
#include "schedules/program/in_flight.hpp"
#include "sim/plan_search/bounds/plan_bounds.hpp"
#include "sim/plan_search/bounds/steady_bounds.hpp"
#include "sim/plan_search/offload.hpp"
#include "sim/plan_search/prices/layer_prices.hpp"

namespace plumb {
namespace {

/// Returns why the simulator's answer would not be what the job does; empty when nothing is wrong.
std::string why_not(const Schedule& schedule, const PipelinePlan& plan, const StageCosts& costs, bool named) {
  if (schedule.forward_only) return "it does not train";
  if (schedule.policy) return "its order is decided at run time";
  if (!schedule.extras.empty()) return "it has work of its own";
  if (schedule.slices && !named) return "it cuts microbatches into slices, whose costs are only in proportion";
  if (!schedule.microbatch_sizes.empty()) return "its microbatches differ in size";
  const bool recomputes =
      plan.parallelism.recompute == ActivationRecompute::kFull || chooses_some(plan.choices.recomputed);
  for (const DeviceList& list : schedule.devices) {
    for (const Action& action : list.actions) {
      if (action.op == Op::kR && recomputes) {
        return "it recomputes whole stages itself, beside layers that do";
      }
      if (!is_move(action.op) || action.where != Action::kHost) continue;
      if (static_cast<std::int32_t>(action.microbatch) < 0) return "it moves weights, whose copies are not priced";
      if (costs.times.front().evict == 0) return "it moves stashes to the host, whose copies are not priced";
    }
  }
  return {};
}

/// Returns the bytes of stashes that the fullest place can take; 0: no limit.
double stash_room(const PipelinePlan& plan, const PricedStages& stages) {
  if (stages.costs.memory.empty()) return 0;
  std::int64_t held = 0;
  for (const StageMemory& stage : stages.costs.memory) held = std::max(held, held_bytes(stage));
  const std::int64_t per_place = plan.stages_per_place();
  std::int64_t room = 0;
  for (const std::int32_t place : plan.order) {
    const std::int64_t usable = stages.usable_bytes[static_cast<std::size_t>(place)];
    if (usable == 0) return 0;
    room = room == 0 ? usable : std::min(room, usable);
  }
  return static_cast<double>(std::max<std::int64_t>(1, room - held * per_place));
}

/// Returns the messages of a holder of one of `holders` that may wait in send buffers, two for each holder of the
/// `others` that it sends to; it has `turns` microbatches.
std::int64_t waiting_messages(std::int32_t holders, std::int32_t others, std::int64_t turns) {
  return std::min<std::int64_t>(turns, 2 * (others / std::gcd(holders, others)));
}

/// Returns the microbatches whose stashes a holder of stage `s` has room for beside what it holds and hands on, about;
/// 0: no limit.
std::int64_t room_in_flight(const PipelinePlan& plan, std::size_t s, const StageMemory& stage,
                            std::int64_t usable_bytes) {
  const std::int64_t kept = stash_bytes(stage);
  if (usable_bytes == 0 || kept == 0) return 0;
  const std::int32_t holders = plan.replicas[s];
  const std::int64_t turns = (plan.microbatches + holders - 1) / holders;
  std::int64_t beside = stage.input_bytes + stage.output_grad_bytes + stage.workspace_u_bytes;
  beside += std::max(stage.workspace_f_bytes, stage.workspace_b_bytes);
  if (s + 1 < plan.replicas.size())
    beside += waiting_messages(holders, plan.replicas[s + 1], turns) * stage.output_bytes;
  if (s > 0) beside += waiting_messages(holders, plan.replicas[s - 1], turns) * stage.input_grad_bytes;
  return std::max<std::int64_t>(1, (usable_bytes - held_bytes(stage) - beside) / kept);
}

/// Returns how many microbatches the holders of every stage may keep, for the option `limit`; "" where memory limits
/// none.
std::string limits_of(const PipelinePlan& plan, const PricedStages& stages) {
  std::string text;
  bool limited = false;
  std::size_t position = 0;
  for (std::size_t s = 0; s < plan.replicas.size() && !stages.costs.memory.empty(); ++s) {
    std::int64_t least = 0;
    for (std::int32_t copy = 0; copy < plan.replicas[s]; ++copy) {
      const auto place = static_cast<std::size_t>(plan.order[position++]);
      const std::int64_t room = room_in_flight(plan, s, stages.costs.memory[s], stages.usable_bytes[place]);
      if (room > 0 && (least == 0 || room < least)) least = room;
    }
    limited = limited || (least > 0 && least < plan.microbatches);
    text +=
        (text.empty() ? "" : "-") + std::to_string(least > 0 ? std::min(least, plan.microbatches) : plan.microbatches);
  }
  return limited ? text : "";
}

/// Throws `Error` where stages with unlike tensor degrees are priced for other places than those that hold them.
void check_places(const Schedule& schedule, const PipelinePlan& plan) {
  if (!plan.parallelism.has_unlike_tensor()) return;
  for (const auto& replica : schedule.placement) {
    for (std::size_t s = 0; s < replica.size(); ++s) {
      for (const DeviceId position : replica[s]) {
        const std::int64_t degree = plan.parallelism.tensor_of(plan.order[index(position)]);
        if (degree == plan.parallelism.tensor_of(plan.choices.places[s])) continue;
        throw Error("schedule '" + plan.schedule + "': holds stage " + std::to_string(s) +
                    " on places with unlike tensor degrees");
      }
    }
  }
}

/// Makes the schedule of so many updates; 0: as many as it covers by itself.
Schedule made_schedule(const PipelinePlan& plan, const PricedStages& stages, bool named, std::int64_t updates) {
  ScheduleParams params{.num_devices = plan.places, .num_microbatches = plan.microbatches, .chunks = plan.chunks};
  params.updates = updates;
  const auto num_stages = static_cast<std::int32_t>(plan.partition.num_stages());
  params.costs = [&](std::int32_t wanted) {
    if (wanted != num_stages) throw Error("schedule '" + plan.schedule + "': has another number of stages");
    StageCosts costs = stages.costs;
    costs.comm = longest_edge(costs, stages.pipeline, static_cast<std::int32_t>(stages.pipeline.devices.size()));
    return costs;
  };
  params.memory_limit = stash_room(plan, stages);
  for (const std::int32_t count : plan.replicas) {
    std::string& text = params.options["replicas"];
    text += (text.empty() ? "" : "-") + std::to_string(count);
  }
  if (!plan.shares.empty()) params.options[std::string(kCopyShares)] = shares_text(plan);
  if (const std::string limits = limits_of(plan, stages); !limits.empty()) params.options["limit"] = limits;
  Schedule schedule = generate(plan.schedule, params);
  if (schedule.num_stages != num_stages || schedule.num_devices != plan.places) {
    throw Error("schedule '" + plan.schedule + "': has " + std::to_string(schedule.num_stages) + " stages on " +
                std::to_string(schedule.num_devices) + " devices, expected " + std::to_string(num_stages) + " on " +
                std::to_string(plan.places));
  }
  check_places(schedule, plan);
  const std::string why = why_not(schedule, plan, stages.costs, named);
  if (!why.empty()) throw Error("schedule '" + plan.schedule + "': " + why);
  if (!chooses_some(plan.choices.offloaded)) return schedule;
  if (stages.pipeline.host_link.bytes_per_s == 0 && stages.costs.times.front().evict == 0) {
    throw Error("plan: stashes on the host need a link to it, which the cluster does not have");
  }
  return with_offload(std::move(schedule), plan.choices.offloaded);
}

bool is_asynchronous(const PipelinePlan& plan) {
  const auto catalogue = schedule_catalogue();
  const auto found = std::ranges::find(catalogue, plan.schedule, &ScheduleSpec::name);
  return found != catalogue.end() && !found->synchronous;
}

}  // namespace

Schedule plan_schedule(const PipelinePlan& plan, const PricedStages& stages, bool named) {
  if (!is_asynchronous(plan)) return made_schedule(plan, stages, named, 0);
  Schedule schedule = made_schedule(plan, stages, named, scored_updates(plan.places, plan.microbatches));
  check_ahead(schedule);
  return schedule;
}

Schedule placed(Schedule schedule, std::span<const std::int32_t> order) {
  const bool natural =
      std::is_sorted(order.begin(), order.end()) && order.back() + 1 == static_cast<std::int32_t>(order.size());
  if (natural) return schedule;
  const auto device = [&](DeviceId at) { return DeviceId{order[index(at)]}; };
  for (auto& replica : schedule.placement) {
    for (auto& holders : replica) std::transform(holders.begin(), holders.end(), holders.begin(), device);
  }
  for (auto& group : schedule.reduce_groups) std::transform(group.begin(), group.end(), group.begin(), device);
  const std::int32_t count = *std::max_element(order.begin(), order.end()) + 1;
  std::vector<DeviceList> lists(static_cast<std::size_t>(count));
  for (std::size_t at = 0; at < schedule.devices.size(); ++at) {
    for (Action& action : schedule.devices[at].actions) {
      if (action.where >= 0) action.where = static_cast<std::int16_t>(order[static_cast<std::size_t>(action.where)]);
    }
    lists[static_cast<std::size_t>(order[at])] = std::move(schedule.devices[at]);
  }
  schedule.devices = std::move(lists);
  schedule.num_devices = count;
  return schedule;
}

PreparedRun placed_run(Schedule placed_schedule, const PricedStages& stages) {
  return prepare_run(std::move(placed_schedule), {.costs = stages.costs, .cluster = stages.pipeline}, {},
                     {.runtime = std::string(stages.runtime)});
}

PlanRun run_placed_plan(const PipelinePlan& plan, const PricedStages& stages, const Schedule& placed_schedule) {
  const PreparedRun as_run = placed_run(placed_schedule, stages);
  SimOptions options = as_run.rules.simulation(as_run.schedule);
  options.spans = options.memory_curve = options.idle_causes = options.critical_path = false;
  const Timeline timeline = predict(as_run, {}, options);
  PlanRun run{.score = {.plan = plan, .step_ns = to_ns(timeline.step_time, timeline.base)},
              .excess_bytes = std::vector<std::int64_t>(timeline.devices.size())};
  ScoredPlan& score = run.score;
  // Places that are not used are idle in the timeline, and none of the plan's.
  const double idle_too = static_cast<double>(timeline.devices.size()) / static_cast<double>(plan.order.size());
  score.bubble_fraction = 1 - (1 - timeline.bubble_fraction) * idle_too;
  double fullest = -1;
  for (const std::int32_t place : plan.order) {
    const auto at = static_cast<std::size_t>(place);
    if (!stages.price_per_hour.empty()) score.price_per_hour += stages.price_per_hour[at];
    const std::int64_t peak = timeline.devices[at].peak_memory_bytes;
    const std::int64_t usable = stages.usable_bytes[at];
    score.peak_bytes = std::max(score.peak_bytes, peak);
    const std::int64_t excess = usable > 0 ? std::max<std::int64_t>(0, peak - usable) : 0;
    run.excess_bytes[at] = excess;
    constexpr auto kNoLimit = static_cast<double>(std::numeric_limits<std::int64_t>::max());
    const double full = static_cast<double>(peak) / (usable > 0 ? static_cast<double>(usable) : kNoLimit);
    if (excess < score.excess_bytes || (excess == score.excess_bytes && full <= fullest)) continue;
    score.excess_bytes = excess;
    score.worst_place = place;
    score.worst_bytes = peak;
    fullest = full;
  }
  return run;
}

SimulatedPlan simulate_plan(const PipelinePlan& plan, const StagePricing& price) {
  const std::int32_t places = *std::max_element(plan.order.begin(), plan.order.end()) + 1;
  SimulatedPlan simulated{.stages = price(plan.parallelism, plan.partition, places, plan.choices)};
  simulated.schedule = placed(plan_schedule(plan, simulated.stages, true), plan.order);
  simulated.score = run_placed_plan(plan, simulated.stages, simulated.schedule).score;
  return simulated;
}

Schedule shown_schedule(const PipelinePlan& plan, const PricedStages& stages) {
  return placed(made_schedule(plan, stages, true, 0), plan.order);
}

std::vector<StageDelays> plan_delays(const PipelinePlan& plan, const StagePricing& price) {
  if (!is_asynchronous(plan)) return {};
  const std::int32_t places = *std::max_element(plan.order.begin(), plan.order.end()) + 1;
  const PricedStages stages = price(plan.parallelism, plan.partition, places, plan.choices);
  const Schedule schedule = shown_schedule(plan, stages);
  return stage_delays(schedule, lower(schedule, stages.costs, &stages.pipeline));
}

}  // namespace plumb
