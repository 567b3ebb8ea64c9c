#include <algorithm>

#include "schedules/generator.hpp"

namespace plumb {

/// Warm up, then alternate one forward with one backward, then drain.
/// Device d keeps at most min(p - d, m) activations. Any p and m.
/// (PipeDream-Flush: Narayanan et al., arXiv 2006.09503; DAPPLE policy PA: Fan et al., arXiv 2007.01045)
///
///   p = 3, m = 4
///   d0: 0F0 0F1 0F2 0B0 0F3 0B1 0B2 0B3 0U0
///   d1: 1F0 1F1 1B0 1F2 1B1 1F3 1B2 1B3 1U0
///   d2: 2F0 2B0 2F1 2B1 2F2 2B2 2F3 2B3 2U0
Schedule one_f_one_b(const ScheduleParams& params) {
  require_one_chunk("1f1b", params);
  const std::int64_t m = params.num_microbatches;
  const std::int64_t updates = updates_or(params, 1);
  Schedule schedule = looped_schedule("1f1b", params, 1, updates);
  for (std::int32_t d = 0; d < params.num_devices; ++d) {
    const StageId stage{d};
    const std::int64_t warmup = std::min<std::int64_t>(params.num_devices - 1 - d, m);
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      list.each(warmup, [&] { list.add(stage, Op::kF, 0); });
      list.each(m - warmup, [&] {
        list.add(stage, Op::kF, warmup);
        list.add(stage, Op::kB, 0);
      });
      list.each(warmup, [&] { list.add(stage, Op::kB, m - warmup); });
      list.add(stage, Op::kU, 0);
    }));
  }
  return schedule;
}

}  // namespace plumb
