#include <algorithm>
#include <utility>

#include "schedules/catalogue/zero_bubble/post_validation.hpp"

namespace plumb {

/// More forwards before the first backward than ZB-H1, and twice as many W put off: with equal times no device waits
/// between its first and last action (m >= 2p - 1). Device d keeps min(2(p - d) - 1, m) activations and up to 2d weight
/// halves, at most 2p - 1. Any p and m.
/// (ZB-H2: Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241, section 2.2; the paper's "B" is our I. There
/// is no released code; this order reproduces all twelve published rates.)
///
///   p = 3, m = 6
///   d0: 0F0 0F1 0F2 0F3 0F4 0I0 0W0 0F5 0I1 0W1 0I2 0W2 0I3 0W3 0I4 0W4 0I5 0W5 0U0
///   d1: 1F0 1F1 1F2 1I0 1F3 1I1 1F4 1I2 1W0 1F5 1I3 1W1 1I4 1W2 1I5 1W3 1W4 1W5 1U0
///   d2: 2F0 2I0 2F1 2I1 2F2 2I2 2F3 2I3 2F4 2I4 2W0 2F5 2I5 2W1 2W2 2W3 2W4 2W5 2U0
Schedule zb_h2(const ScheduleParams& params) {
  require_one_chunk("zb-h2", params);
  const std::int64_t m = params.num_microbatches;
  const std::int64_t updates = updates_or(params, 1);
  Schedule schedule = looped_schedule("zb-h2", params, 1, updates);
  for (std::int32_t d = 0; d < params.num_devices; ++d) {
    const StageId stage{d};
    const std::int64_t warmup = std::min<std::int64_t>(2 * (params.num_devices - d) - 1, m);
    const std::int64_t put_off = std::min<std::int64_t>(2 * d, m);  // W outstanding once W begins
    const std::int64_t with_forward = m - warmup;
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      const auto steps = [&](std::int64_t first, std::int64_t last) {
        list.each(last - first, [&] {
          list.add(stage, Op::kI, first);
          if (first >= put_off) list.add(stage, Op::kW, first - put_off);
          if (first < with_forward) list.add(stage, Op::kF, warmup + first);
        });
      };
      list.each(warmup, [&] { list.add(stage, Op::kF, 0); });
      steps(0, std::min(put_off, with_forward));
      steps(std::min(put_off, with_forward), std::max(put_off, with_forward));
      steps(std::max(put_off, with_forward), m);
      list.each(put_off, [&] { list.add(stage, Op::kW, m - put_off); });
      list.add(stage, Op::kU, 0);
    }));
  }
  return with_validation("zb-h2", params, std::move(schedule));
}

}  // namespace plumb
