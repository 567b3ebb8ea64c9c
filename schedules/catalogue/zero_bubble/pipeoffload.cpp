#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "schedules/catalogue/zero_bubble/gis_order.hpp"
#include "schedules/catalogue/zero_bubble/offload_plan.hpp"

namespace plumb {
namespace {

/// The time of one copy: the largest of EVICT and LOAD, a quarter of the longest stage where none is given.
Ticks copy_time(const ScheduleParams& params, const PassCosts& costs) {
  Ticks longest = 0;
  Ticks given = 0;
  for (const StagePasses& stage : costs.stages) longest = std::max(longest, stage.time());
  if (params.costs) {
    for (const StageTimes& times : params.costs(static_cast<std::int32_t>(costs.stages.size())).times) {
      given = std::max({given, times.evict, times.load});
    }
  }
  return given > 0 ? given : std::max<Ticks>(1, longest / 4);
}

/// Moves the forwards in front of every device's first backward to the latest times at which neither a forward of the
/// next stage nor that backward has to wait, with one backward's time to spare, from the first forward of the last
/// chunk on.
void put_off_warmup(std::vector<DeviceSpans>& devices, const DeviceStashes& stashes, Ticks comm) {
  const std::int32_t p = stashes.num_devices;
  std::vector<std::vector<Ticks>> start(devices.size(), std::vector<Ticks>(stashes.count()));  // of forwards
  for (std::size_t d = 0; d < devices.size(); ++d) {
    for (const auto& span : devices[d]) {
      if (span.action.op == Op::kF) start[d][stashes.number(span.action)] = span.start;
    }
  }
  for (std::size_t d = devices.size(); d-- > 0;) {
    auto span = std::ranges::find_if(devices[d], [](const ListTimes::Span& one) { return one.action.op == Op::kI; });
    if (span == devices[d].end()) continue;
    Ticks latest = span->start - (span->end - span->start);
    while (span != devices[d].begin()) {
      --span;
      Action next = span->action;
      const bool in_last_chunk = stashes.chunk(next) == stashes.chunks - 1;
      if (in_last_chunk && index(next.microbatch) == 0) break;
      next.stage = StageId{static_cast<std::int32_t>(next.stage) + 1};
      if (stashes.chunk(next) < stashes.chunks) {
        latest = std::min(latest, start[index(next.stage) % static_cast<std::size_t>(p)][stashes.number(next)] - comm);
      }
      const Ticks length = span->end - span->start;
      if (latest - length > span->start) {
        span->end = latest;
        span->start = start[d][stashes.number(span->action)] = latest - length;
      }
      latest = span->start;
    }
  }
}

/// The lists of all devices with their copies. These take turns, except on devices that would then keep more than the
/// released scheduler lets the fullest one keep: in its runtime a stash is gone when its copy is over, and not only
/// when the next one leaves.
std::vector<std::vector<Action>> lists_with_copies(std::vector<DeviceSpans> devices, const DeviceStashes& stashes,
                                                   CopyTimes copies, Ticks comm) {
  put_off_warmup(devices, stashes, comm);
  std::vector<OffloadPlan> plans;
  std::int64_t fullest = 0;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    plans.emplace_back(devices[d], stashes, copies, d % 2 == 0 ? 0 : copies.both_ways);
    fullest = std::max(fullest, plans[d].most_kept_in_turns());
  }
  std::vector<std::vector<Action>> lists;
  for (const OffloadPlan& plan : plans) {
    lists.push_back(plan.in_turns());
    if (most_kept(lists.back()) <= fullest) continue;
    std::vector<Action> closer = plan.closely();
    if (most_kept(closer) < most_kept(lists.back())) lists.back() = std::move(closer);
  }
  return lists;
}

}  // namespace

/// The order of `gis` with the stashes of the first `offload=N` chunks (default: all) of every device in host memory
/// between forward and backward, where that is long enough. Copies of two neighbouring devices share a link; one copy
/// takes as long as EVICT or LOAD, by default a quarter of F + I + W. With everything offloaded a device keeps a
/// handful of stashes whatever p and m are. `group=N` as of `gis`. `solo=N`: a copy takes N % of its time (default 70)
/// while nothing comes back; 100 for links whose directions do not slow each other down. Forwards of the
/// warm-up come late, so that they wait for slow copies. (Wan et al., PipeOffload, arXiv 2503.01328, and its released
/// code)
///
///   p = 2, m = 3, v = 2 (all moves @host)
///   d0: 0F0 0EVICT0 0F1 0EVICT1 2F0 2F1 2I0 2W0 0F2 0EVICT2 2I1 0LOAD0 2W1 0I0 0LOAD1 0W0 2F2 0I1 0W1 0LOAD2 2I2
///       2W2 0I2 0W2 0U0 2U0
///   d1: 1F0 1EVICT0 1F1 3F0 1EVICT1 3I0 3W0 3F1 1LOAD0 3I1 3W1 1LOAD1 1F2 1I0 1W0 1EVICT2 1I1 1W1 3F2 1LOAD2 3I2
///       3W2 1I2 1W2 1U0 3U0
Schedule pipeoffload(const ScheduleParams& params) {
  const std::int32_t chunks = gis_chunks(params);
  const std::int32_t p = params.num_devices;
  require_searchable("pipeoffload", params, chunks * p);
  PassCosts costs = pass_costs(params, chunks * p);
  if (!params.costs) {
    for (StagePasses& stage : costs.stages) stage.f.time = stage.i.time = stage.w.time = 40;  // shares stay whole
  }
  const GisOrder order = gis_order("pipeoffload", params, costs);
  const std::int64_t offload = whole_number("pipeoffload", params, "offload", chunks);
  require(offload <= chunks, "pipeoffload",
          "offload (" + std::to_string(offload) + ") must be at most the chunks per device (" + std::to_string(chunks) +
              ")");
  ScheduleParams one_update = params;
  one_update.updates = 1;
  Schedule step = looped_schedule("pipeoffload", one_update, chunks, 1);
  for (std::int32_t d = 0; d < p; ++d) {
    ListBuilder list;
    order.write(d, params.num_microbatches, list);
    step.devices.push_back(list.take());
  }
  const auto duration = [&](const Action& action) {
    const StagePasses& stage = costs.stages[index(action.stage)];
    return action.op == Op::kF ? stage.f.time : action.op == Op::kI ? stage.i.time : stage.w.time;
  };
  const ListTimes times = list_times(step, duration, costs.comm);
  const std::int64_t solo = whole_number("pipeoffload", params, "solo", 70);
  require(solo <= 100, "pipeoffload", "solo (" + std::to_string(solo) + ") must be at most 100, in percent");
  const Ticks copy = copy_time(params, costs);
  const CopyTimes copies{.both_ways = copy, .solo = std::max<Ticks>(1, copy / 100 * solo + copy % 100 * solo / 100)};
  const std::int64_t updates = updates_or(params, 1);
  Schedule schedule = looped_schedule("pipeoffload", params, chunks, updates);
  schedule.parameters["group"] = order.group;
  const DeviceStashes stashes{p, params.num_microbatches, chunks, static_cast<std::int32_t>(offload)};
  const std::vector<std::vector<Action>> lists = lists_with_copies(times.devices, stashes, copies, costs.comm);
  for (std::int32_t d = 0; d < p; ++d) {
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      list.add_all(lists[static_cast<std::size_t>(d)]);
      for (std::int32_t chunk = 0; chunk < chunks; ++chunk) list.add(StageId{chunk * p + d}, Op::kU, 0);
    }));
  }
  return schedule;
}

}  // namespace plumb
