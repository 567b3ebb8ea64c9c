#include "schedules/catalogue/zero_bubble/gis_order.hpp"

#include <algorithm>
#include <string>

namespace plumb {

std::vector<GisOrder::Pass> GisOrder::block(std::int32_t device) const {
  const std::int64_t first_backward = 3 * group * (chunks - 1) + device + 3 * (p - 1 - device) + 1;
  std::vector<Pass> passes;
  for (std::int32_t turn = 0; turn < chunks; ++turn) {
    for (std::int64_t i = 0; i < group; ++i) {
      const std::int64_t offset = 3 * (group * turn + i);
      const std::int64_t backward = first_backward + offset;
      passes.push_back({offset + device, Op::kF, turn, i});
      passes.push_back({backward, Op::kI, chunks - 1 - turn, i});
      passes.push_back({backward + 1, Op::kW, chunks - 1 - turn, i});
    }
  }
  std::sort(passes.begin(), passes.end(),
            [&](const Pass& a, const Pass& b) { return a.slot % period() < b.slot % period(); });
  return passes;
}

void GisOrder::write(std::int32_t device, std::int64_t m, ListBuilder& list) const {
  const std::vector<Pass> passes = block(device);
  std::int64_t longest = 0;  // periods that a group spans
  for (const Pass& pass : passes) longest = std::max(longest, pass.slot / period());
  const auto window = [&](std::int64_t number) {
    for (const Pass& pass : passes) {
      const std::int64_t turn = number - pass.slot / period();
      const std::int64_t microbatch = pass.microbatch + turn * group;
      if (turn < 0 || microbatch >= m) continue;
      const StageId stage{pass.chunk * p + device};
      if (pass.op == Op::kI && pass.chunk < recompute) list.add(stage, Op::kR, microbatch);
      list.add(stage, pass.op, microbatch);
    }
  };
  const std::int64_t full = m / group;
  const std::int64_t steady = std::max<std::int64_t>(full - longest, 0);
  const std::int64_t all = (m + group - 1) / group + longest;
  const std::int64_t begin = std::min(longest, all);
  for (std::int64_t number = 0; number < begin; ++number) window(number);
  list.repeat(steady, {.microbatch = static_cast<std::int32_t>(group)}, [&] { window(begin); });
  for (std::int64_t number = begin + steady; number < all; ++number) window(number);
}

GisOrder gis_order(std::string_view name, const ScheduleParams& params, const PassCosts& costs) {
  const std::int64_t p = params.num_devices;
  Ticks longest = 0;
  Ticks forwards = 0;
  Ticks backwards = 0;
  for (const StagePasses& stage : costs.stages) {
    longest = std::max(longest, stage.time());
    forwards += stage.f.time;
    backwards += stage.i.time;
  }
  const auto chunks = static_cast<std::int32_t>(costs.stages.size()) / params.num_devices;
  std::int64_t least = (p + 1) / 2;
  while (chunks * least * longest < std::max(forwards, backwards))
    ++least;  // at most p: they are sums over p x chunks stages
  const std::int64_t group = whole_number(name, params, "group", p);
  require(least <= group && group <= p, name,
          "group (" + std::to_string(group) + ") must be from " + std::to_string(least) + " to num_devices (" +
              std::to_string(p) + ")");
  const bool recomputes = params.options.contains("recompute");
  const std::int64_t recompute = recomputes ? whole_number(name, params, "recompute", 1) : 0;
  require(recompute <= chunks, name,
          "recompute (" + std::to_string(recompute) + ") must be at most the chunks per device (" +
              std::to_string(chunks) + ")");
  return {.p = params.num_devices, .chunks = chunks, .group = group, .recompute = recompute};
}

}  // namespace plumb
