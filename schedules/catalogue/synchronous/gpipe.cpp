#include "schedules/catalogue/synchronous/recompute_option.hpp"

namespace plumb {

/// All forwards, then all backwards, last microbatch first (`order=fifo`: first microbatch first). Every device keeps
/// all m activations; with `recompute=always` all m inputs of its stage and one activation. `except-last` is
/// torchgpipe's default: the last microbatch's backward follows at once. `early` recomputes before the gradient is
/// there. Any p and m.
/// (Huang et al., GPipe, arXiv 1811.06965; the reverse order is torchgpipe's, arXiv 2004.09910)
///
///   p = 3, m = 4
///   d0: 0F0 0F1 0F2 0F3 0B3 0B2 0B1 0B0 0U0
///   d1: 1F0 1F1 1F2 1F3 1B3 1B2 1B1 1B0 1U0
///   d2: 2F0 2F1 2F2 2F3 2B3 2B2 2B1 2B0 2U0
Schedule gpipe(const ScheduleParams& params) {
  require_one_chunk("gpipe", params);
  const std::string order = choice("gpipe", params, "order", {"reverse", "fifo"});
  const bool fifo = order == "fifo";
  const std::int64_t m = params.num_microbatches;
  const std::int64_t updates = updates_or(params, 1);
  Schedule schedule = looped_schedule("gpipe", params, 1, updates);
  schedule.parameters["order"] = order;
  const RecomputeChoice recompute = recompute_choice("gpipe", params, schedule);
  const std::int64_t kept = recompute.except_last ? 1 : 0;
  for (std::int32_t d = 0; d < params.num_devices; ++d) {
    const StageId stage{d};
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      list.each(m, [&] { list.add(stage, Op::kF, 0); });
      if (kept > 0 && !fifo) list.add(stage, Op::kB, m - 1);
      list.repeat(m - kept, {.microbatch = fifo ? 1 : -1}, [&] {
        add_recompute(list, recompute, stage, fifo ? 0 : m - 1 - kept);
        list.add(stage, Op::kB, fifo ? 0 : m - 1 - kept);
      });
      if (kept > 0 && fifo) list.add(stage, Op::kB, m - 1);
      list.add(stage, Op::kU, 0);
    }));
  }
  return schedule;
}

}  // namespace plumb
