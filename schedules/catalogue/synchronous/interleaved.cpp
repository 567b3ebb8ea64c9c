#include <algorithm>

#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/unit_order.hpp"

namespace plumb {
namespace {

/// Megatron-LM's order over v chunks per device with `ahead` forwards more before the first backward than it needs; in
/// `pairs`, every forward after them overlaps with the backward that follows it.
Schedule interleaved_order(std::string_view name, const ScheduleParams& params, std::int64_t ahead, bool pairs) {
  const std::int32_t chunks = params.chunks > 0 ? params.chunks : 2;
  const std::int64_t updates = updates_or(params, 1);
  // p, or all of them when there are fewer.
  const std::int64_t group =
      group_size(name, params, std::min<std::int64_t>(params.num_devices, params.num_microbatches));
  const UnitOrder order{params.num_microbatches, group, chunks};
  Schedule schedule = looped_schedule(name, params, chunks, updates);
  schedule.parameters["group"] = group;
  for (std::int32_t d = 0; d < params.num_devices; ++d) {
    const std::int64_t needed = 2 * std::int64_t{params.num_devices - 1 - d} + (chunks - 1) * group;
    const std::int64_t warmup = std::min(needed + std::min(ahead, order.size()), order.size());
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      const UnitWriter units{order, list, d, params.num_devices};
      units.steps(0, warmup, {{Op::kF, 0}});
      units.folded_steps(0, order.size() - warmup, {{Op::kF, warmup, pairs}, {Op::kB, 0}});
      units.steps(order.size() - warmup, order.size(), {{Op::kB, 0}});
      units.updates();
    }));
  }
  return schedule;
}

}  // namespace

/// 1F1B over v chunks per device, stage = chunk * p + device: groups of microbatches go through all chunks of a device
/// before the next group starts. The bubble shrinks by v, the traffic grows by v. Device d keeps at most (min(2(p - 1
/// - d) + (v - 1) group, m v) + 1) / v activations. `ahead=N` takes N forwards more before the first backward, as
/// Megatron-LM does with N = 1 where the transfers of expert parallelism are overlapped: as many activations more, the
/// same bubble. Needs m to be a multiple of the group (default p), or to leave a rest of at least p; fewer than p form
/// one group.
/// (Narayanan et al., arXiv 2104.04473; rule of Megatron-LM, megatron/core/pipeline_parallel/schedules.py)
///
///   p = 2, v = 2, m = 4
///   d0: 0F0 0F1 2F0 2F1 0F2 2B0 0F3 2B1 2F2 0B0 2F3 0B1 2B2 2B3 0B2 0B3 0U0 2U0
///   d1: 1F0 1F1 3F0 3B0 3F1 3B1 1F2 1B0 1F3 1B1 3F2 3B2 3F3 3B3 1B2 1B3 1U0 3U0
Schedule interleaved(const ScheduleParams& params) {
  const std::int64_t ahead = params.options.contains("ahead") ? whole_number("interleaved", params, "ahead", 0) : 0;
  Schedule schedule = interleaved_order("interleaved", params, ahead, false);
  if (ahead > 0) schedule.parameters["ahead"] = ahead;
  return schedule;
}

/// `interleaved` whose steady phase runs every forward as one overlapped pair with a backward, as 1f1b-overlap does:
/// one forward more in the warm-up, and then pairs of the next forward and the next backward, each in the order of
/// interleaved. With times per chunk, and m a multiple of p, a step takes (m v + p - 1)(F + B) - (m v - (v - 1)p - 1)(F
/// + B - FB), where FB is the time of a pair. Device d keeps at most min(2(p - d) + (v - 1) group, m v) / v
/// activations. Needs what interleaved needs of m and the group. (Megatron-LM, --overlap-moe-expert-parallel-comm:
/// megatron/core/pipeline_parallel/schedules.py and combined_1f1b.py)
///
///   p = 2, v = 2, m = 4; {a|b} is an overlapped pair
///   d0: 0F0 0F1 2F0 2F1 0F2 {0F3|2B0} {2F2|2B1} {2F3|0B0} 0B1 2B2 2B3 0B2 0B3 0U0 2U0
///   d1: 1F0 1F1 3F0 {3F1|3B0} {1F2|3B1} {1F3|1B0} {3F2|1B1} {3F3|3B2} 3B3 1B2 1B3 1U0 3U0
Schedule interleaved_overlap(const ScheduleParams& params) {
  return interleaved_order("interleaved-overlap", params, 1, true);
}

}  // namespace plumb
