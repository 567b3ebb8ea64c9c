#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/replicas_option.hpp"

namespace plumb {

Schedule dapple_replicated(const ScheduleParams& params);

namespace {

/// Microbatches of one holder of a stage: `first`, `first + stride`, ... `count` of them.
struct HolderTurns {
  StageId stage{};
  std::int64_t first = 0;
  std::int64_t stride = 1;
  std::int64_t count = 0;
  std::int64_t warmup = 0;

  std::int64_t number(std::int64_t k) const { return first + k * stride; }
};

void write_step(ListBuilder& list, const HolderTurns& of) {
  const Advance next{.microbatch = static_cast<std::int32_t>(of.stride)};
  const std::int64_t ahead = std::min(of.warmup, of.count);
  list.repeat(ahead, next, [&] { list.add(of.stage, Op::kF, of.first); });
  list.repeat(of.count - ahead, next, [&] {
    list.add(of.stage, Op::kF, of.number(ahead));
    list.add(of.stage, Op::kB, of.first);
  });
  list.repeat(ahead, next, [&] { list.add(of.stage, Op::kB, of.number(of.count - ahead)); });
  if (of.stride > 1) list.add_collective(of.stage, Op::kReduceGrad);
  list.add(of.stage, Op::kU, 0);
}

}  // namespace

/// DAPPLE's early backward over stages that several devices hold: a stage of r devices gives them its microbatches in
/// turn (k to number k mod r; the paper cuts every microbatch instead), and their gradients are added up before the
/// update. With D devices in this and later stages a device takes w = ceil(D / r) - 1 forwards before it takes a
/// forward and a backward in turn, and keeps at most w + 1 activations; with `limit=1-3-2` no more than so many, by
/// stage.
///
/// That never stops as long as r w < r' (w' + 1) for every earlier stage, to which w is brought down where a limit says
/// otherwise (without limits r w < D < D' <= r' (w' + 1)): before the backward of microbatch j a stage wants forwards
/// up to x = j + r w, and an earlier one gives that of x when it has done the backward of x - r' (w' + 1) < j; so
/// backwards wait for those of earlier microbatches and of later stages only. m at least r for every stage; with
/// several updates, m a multiple of each r. (Fan et al., arXiv 2007.01045, section 3.3; in turn as in PipeDream, arXiv
/// 1806.03377)
///
///   p = 3, m = 4, replicas=2-1 (reductions left out)
///   d0: 0F0 0F2 0B0 0B2 0U0
///   d1: 0F1 0F3 0B1 0B3 0U0
///   d2: 1F0 1B0 1F1 1B1 1F2 1B2 1F3 1B3 1U0
Schedule dapple_replicated(const ScheduleParams& params) {
  constexpr std::string_view kName = "dapple";
  require_one_chunk(kName, params);
  for (const char* option : {"policy", "recompute"}) {
    require(!params.options.contains(option), kName, "option " + std::string(option) + ": not together with replicas");
  }
  const std::vector<std::int64_t> replicas = replicas_option(kName, params);
  const std::vector<std::int64_t> limits = limits_option(kName, params, replicas.size());
  const std::int64_t m = params.num_microbatches;
  const std::int64_t updates = updates_or(params, 1);
  Schedule schedule = looped_schedule(kName, params, 1, updates);
  for (const char* option : {"replicas", "limit"}) {
    if (params.options.contains(option)) schedule.parameters[option] = params.options.at(option);
  }
  schedule.num_stages = static_cast<std::int32_t>(replicas.size());
  schedule.placement.assign(1, {});
  std::int64_t after = params.num_devices;
  std::int64_t window = std::numeric_limits<std::int64_t>::max();  // the least r (w + 1) of earlier stages
  std::int32_t device = 0;
  for (const std::int64_t count : replicas) {
    require(m >= count && (updates == 1 || m % count == 0), kName,
            "num_microbatches (" + std::to_string(m) + ") must be at least the devices of every stage (" +
                std::to_string(count) + "), with several updates a multiple of them");
    const StageId stage{static_cast<std::int32_t>(schedule.placement[0].size())};
    const std::int64_t warmup =
        std::min({(after + count - 1) / count, limits[index(stage)], (window - 1) / count + 1}) - 1;
    std::vector<DeviceId>& holders = schedule.placement[0].emplace_back();
    for (std::int64_t copy = 0; copy < count; ++copy) {
      const HolderTurns turns{
          .stage = stage, .first = copy, .stride = count, .count = (m - copy + count - 1) / count, .warmup = warmup};
      schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) { write_step(list, turns); }));
      holders.push_back(DeviceId{device++});
    }
    window = std::min(window, count * (warmup + 1));
    after -= count;
  }
  return schedule;
}

}  // namespace plumb
