#include <algorithm>
#include <utility>

#include "schedules/catalogue/zero_bubble/post_validation.hpp"

namespace plumb {

/// The order of 1F1B with the backward split; W is put off so that at most d of them are outstanding on device d, and
/// taken in the order of the I. Every device keeps at most p activations (I frees a part of each). Any p and m.
/// (ZB-H1: Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241; the paper's "B" is our I)
///
///   p = 3, m = 4
///   d0: 0F0 0F1 0F2 0I0 0W0 0F3 0I1 0W1 0I2 0W2 0I3 0W3 0U0
///   d1: 1F0 1F1 1I0 1F2 1I1 1W0 1F3 1I2 1W1 1I3 1W2 1W3 1U0
///   d2: 2F0 2I0 2F1 2I1 2F2 2I2 2W0 2F3 2I3 2W1 2W2 2W3 2U0
Schedule zb_h1(const ScheduleParams& params) {
  require_one_chunk("zb-h1", params);
  const std::int64_t m = params.num_microbatches;
  const std::int64_t updates = updates_or(params, 1);
  Schedule schedule = looped_schedule("zb-h1", params, 1, updates);
  for (std::int32_t d = 0; d < params.num_devices; ++d) {
    const StageId stage{d};
    const std::int64_t warmup = std::min<std::int64_t>(params.num_devices - 1 - d, m);
    const std::int64_t pairs = m - warmup;
    const std::int64_t put_off = std::min<std::int64_t>(d, m);  // W outstanding once W begins
    const std::int64_t bare_pairs = std::min(put_off, pairs);
    const std::int64_t bare_inputs = put_off - bare_pairs;
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      const auto steady = [&](std::int64_t count, std::int64_t first, bool forward, bool weight) {
        list.each(count, [&] {
          if (forward) list.add(stage, Op::kF, warmup + first);
          list.add(stage, Op::kI, first);
          if (weight) list.add(stage, Op::kW, first - put_off);
        });
      };
      list.each(warmup, [&] { list.add(stage, Op::kF, 0); });
      steady(bare_pairs, 0, true, false);
      steady(pairs - bare_pairs, bare_pairs, true, true);
      steady(bare_inputs, pairs, false, false);
      steady(warmup - bare_inputs, pairs + bare_inputs, false, true);
      list.each(put_off, [&] { list.add(stage, Op::kW, m - put_off); });
      list.add(stage, Op::kU, 0);
    }));
  }
  return with_validation("zb-h1", params, std::move(schedule));
}

}  // namespace plumb
