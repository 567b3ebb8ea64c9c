#include <algorithm>

#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/unit_order.hpp"

namespace plumb {
/// ZB-H1 over v chunks per device, in groups that pass all chunks before the next one starts: the order of
/// `interleaved` with half of its extra warm-up (one forward per device further down instead of two), the backward
/// split, and W put off by d steps on device d, in the order of the I. With v = 1 it is `zb-h1`. Every device keeps at
/// most (v - 1) group + p activations of a chunk when I frees nothing. m a multiple of the group, or with a rest of at
/// least p. (order of PyTorch's ScheduleInterleavedZeroBubble; `group=N` default is PyTorch's, m / max(1, m div p))
///
///   p = 2, v = 2, m = 2
///   d0: 0F0 0F1 2F0 2F1 2I0 2W0 2I1 2W1 0I0 0W0 0I1 0W1 0U0 2U0
///   d1: 1F0 1F1 3F0 3I0 3F1 3I1 3W0 1I0 3W1 1I1 1W0 1W1 1U0 3U0
Schedule interleaved_zb(const ScheduleParams& params) {
  const std::int32_t chunks = params.chunks > 0 ? params.chunks : 2;
  const std::int64_t updates = updates_or(params, 1);
  const std::int64_t rounds = std::max<std::int64_t>(1, params.num_microbatches / params.num_devices);  // PyTorch's
  const std::int64_t group = group_size("interleaved-zb", params, params.num_microbatches / rounds);
  const UnitOrder order{params.num_microbatches, group, chunks};
  Schedule schedule = looped_schedule("interleaved-zb", params, chunks, updates);
  for (std::int32_t d = 0; d < params.num_devices; ++d) {
    const std::int64_t size = order.size();
    const std::int64_t warmup = std::min((chunks - 1) * group + params.num_devices - 1 - d, size);
    const std::int64_t put_off = std::min<std::int64_t>(d, size);  // steps before the first W
    const std::int64_t last_forward = size - warmup;               // steps with a forward
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      const UnitWriter units{order, list, d, params.num_devices};
      const std::int64_t bare = std::min(put_off, last_forward);
      units.steps(0, warmup, {{Op::kF, 0}});
      units.steps(0, bare, {{Op::kF, warmup}, {Op::kI, 0}});
      units.steps(bare, put_off, {{Op::kI, 0}});
      units.folded_steps(0, last_forward - put_off, {{Op::kF, warmup + put_off}, {Op::kI, put_off}, {Op::kW, 0}});
      units.steps(std::max<std::int64_t>(last_forward - put_off, 0), size - put_off, {{Op::kI, put_off}, {Op::kW, 0}});
      units.steps(size - put_off, size, {{Op::kW, 0}});
      units.updates();
    }));
  }
  return schedule;
}

}  // namespace plumb
