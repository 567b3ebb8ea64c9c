#include <algorithm>

#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/registry.hpp"

namespace plumb {

/// 1F1B whose steady phase runs every forward as one overlapped pair with a backward, so that the communication inside
/// of one (all-to-alls of experts, all-reduces of tensor parallelism) is hidden behind the computation of the other.
/// The partner of a forward must be free to start with it, so device d warms up by 2(p - d - 1) + 1 forwards, twice as
/// many as 1F1B, and keeps min(m, 2(p - d)) activations. Step p(F + B) + (m - 1) FB, where FB is the time of a pair.
/// Any p and m. (Megatron-LM's overlap of the all-to-alls of experts, megatron/core/pipeline_parallel/combined_1f1b.py,
/// without interleaving; order for p > 1: github.com/Victarry/PP-Schedule-Visualization)
///
///   p = 2, m = 4; {a|b} is an overlapped pair
///   d0: 0F0 0F1 0F2 {0F3|0B0} 0B1 0B2 0B3 0U0
///   d1: 1F0 {1F1|1B0} {1F2|1B1} {1F3|1B2} 1B3 1U0
Schedule one_f_one_b_overlap(const ScheduleParams& params) {
  require_one_chunk("1f1b-overlap", params);
  const std::int64_t updates = updates_or(params, 1);
  const std::int64_t m = params.num_microbatches;
  Schedule schedule = looped_schedule("1f1b-overlap", params, 1, updates);
  for (std::int32_t d = 0; d < params.num_devices; ++d) {
    const std::int64_t warmup = std::min(2 * std::int64_t{params.num_devices - 1 - d} + 1, m);
    const StageId stage{d};
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      list.each(warmup, [&] { list.add(stage, Op::kF, 0); });
      list.each(m - warmup, [&] {
        list.add_pair(ListBuilder::action(stage, Op::kF, warmup), ListBuilder::action(stage, Op::kB, 0));
      });
      list.each(warmup, [&] { list.add(stage, Op::kB, m - warmup); });
      list.add(stage, Op::kU, 0);
    }));
  }
  return schedule;
}

}  // namespace plumb
