#include "schedules/generator.hpp"
#include "schedules/slice_lengths.hpp"

namespace plumb {

/// Slices of a sequence instead of microbatches go through the pipeline (causal models only): the forwards of all
/// slices of all microbatches, then their backwards in reverse. With slices that take t_1 .. t_k forward and backward,
/// a step takes m (t_1 + .. + t_k) + (p - 1) max t; `lengths=search` finds the lengths for which that is least.
/// Every device keeps all m activations. Any p, m and k. The batch dimension is cut by m alone.
/// (Li et al., TeraPipe, arXiv 2102.07988; order and dynamic programme as in the released code)
///
///   p = 2, m = 2, k = 2
///   d0: 0F0.0 0F0.1 0F1.0 0F1.1 0B1.1 0B1.0 0B0.1 0B0.0 0U0
///   d1: 1F0.0 1F0.1 1F1.0 1F1.1 1B1.1 1B1.0 1B0.1 1B0.0 1U0
Schedule terapipe(const ScheduleParams& params) {
  require_one_chunk("terapipe", params);
  const std::vector<std::int64_t> lengths = slice_lengths("terapipe", params, 4);
  const auto slices = static_cast<std::int64_t>(lengths.size());
  const std::int64_t m = params.num_microbatches;
  const std::int64_t updates = updates_or(params, 1);
  Schedule schedule = looped_schedule("terapipe", params, 1, updates);
  schedule.parameters["slices"] = slices;
  schedule.slices = Slices{Slices::Axis::kSequence, {lengths}};
  for (std::int32_t d = 0; d < params.num_devices; ++d) {
    const StageId stage{d};
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      list.each(m, [&] { list.repeat(slices, {.slice = 1}, [&] { list.add_slice(stage, Op::kF, 0, 0); }); });
      list.repeat(m, {.microbatch = -1}, [&] {
        list.repeat(slices, {.slice = -1}, [&] { list.add_slice(stage, Op::kB, m - 1, slices - 1); });
      });
      list.add(stage, Op::kU, 0);
    }));
  }
  return schedule;
}

}  // namespace plumb
