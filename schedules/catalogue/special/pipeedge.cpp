#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/slice_lengths.hpp"

namespace plumb {

/// Inference: microbatches run forward through the stages, one after another, and never come back. Throughput is that
/// of the slowest stage; with equal ones m microbatches take (m + p - 1) F. Nothing is kept between actions, unless
/// `slices=k` cuts sequences (causal models only): keys and values, until the last slice is through.
/// PipeEdge's partition for devices of different kinds, which makes the slowest stage as fast as it can be, is a matter
/// of `models/`. Any p and m; `updates` runs further batches. (Hu et al., PipeEdge, DSD 2022, arXiv 2110.14895)
///
///   p = 3, m = 4
///   d0: 0F0 0F1 0F2 0F3
///   d1: 1F0 1F1 1F2 1F3
///   d2: 2F0 2F1 2F2 2F3
Schedule pipeedge(const ScheduleParams& params) {
  require_one_chunk("pipeedge", params);
  Schedule schedule = looped_schedule("pipeedge", params, 1, updates_or(params, 1));
  schedule.forward_only = true;
  const std::vector<std::int64_t> lengths = slice_lengths("pipeedge", params, 1);
  const auto slices = static_cast<std::int64_t>(lengths.size());
  if (slices > 1) {
    schedule.parameters["slices"] = slices;
    schedule.slices = Slices{Slices::Axis::kSequence, {lengths}};
  }
  for (std::int32_t d = 0; d < params.num_devices; ++d) {
    ListBuilder list;
    list.each(schedule.num_microbatches, [&] {
      if (slices == 1) return list.add(StageId{d}, Op::kF, 0);
      list.repeat(slices, {.slice = 1}, [&] { list.add_slice(StageId{d}, Op::kF, 0, 0); });
    });
    schedule.devices.push_back(list.take());
  }
  return schedule;
}

}  // namespace plumb
