#include "schedules/catalogue/generator.hpp"

namespace plumb {

/// PyTorch's ScheduleLoopedBFS: every chunk takes all its forwards before the next chunk begins; then the chunks in
/// descending order, all backwards with microbatches descending. Any p, m and v. Every device keeps all m activations.
/// (Breadth-first order: Lamy-Poirier, Breadth-First Pipeline Parallelism, arXiv 2211.05953)
///
///   p = 2, v = 2, m = 2
///   d0: 0F0 0F1 2F0 2F1 2B1 2B0 0B1 0B0 0U0 2U0
///   d1: 1F0 1F1 3F0 3F1 3B1 3B0 1B1 1B0 1U0 3U0
Schedule torch_looped_bfs(const ScheduleParams& params) {
  const std::int32_t chunks = params.chunks > 0 ? params.chunks : 2;
  const std::int64_t m = params.num_microbatches;
  const std::int64_t updates = updates_or(params, 1);
  Schedule schedule = looped_schedule("torch-looped-bfs", params, chunks, updates);
  for (std::int32_t d = 0; d < params.num_devices; ++d) {
    const auto stage = [&](std::int32_t chunk) { return StageId{chunk * params.num_devices + d}; };
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      for (std::int32_t c = 0; c < chunks; ++c) list.each(m, [&] { list.add(stage(c), Op::kF, 0); });
      for (std::int32_t c = chunks; c-- > 0;) {
        list.repeat(m, {.microbatch = -1}, [&] { list.add(stage(c), Op::kB, m - 1); });
      }
      for (std::int32_t c = 0; c < chunks; ++c) list.add(stage(c), Op::kU, 0);
    }));
  }
  return schedule;
}

}  // namespace plumb
