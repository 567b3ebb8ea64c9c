#include <string>

#include "schedules/catalogue/v_placement.hpp"
#include "schedules/catalogue/zero_bubble/dualpipe_writer.hpp"
#include "schedules/catalogue/zero_bubble/v_order.hpp"

namespace plumb {

/// DualPipe cut in half: stages d and 2p - 1 - d on device d, so that one copy of the model is enough. Idle time:
/// (p - 1)(FB + B - 3W). Every device keeps 2p + 1 stashes of a stage. Needs m >= 2p.
/// (DualPipeV: Sea AI Lab, "DualPipe could be better without the Dual", 2025; order of the released code,
/// github.com/deepseek-ai/DualPipe, and of PyTorch)
///
///   p = 2, m = 4; {a|b} is (a;b)OVERLAP_F_B
///   d0: 0F0 0F1 0F2 3F0 3I0 3W0 3F1 {0F3|3B1} {3F2|0B0} 3B2 {3F3|0B1} 3B3 0I2 0W2 0I3 0W3 0U0 3U0
///   d1: 1F0 2F0 1F1 2F1 1F2 2B0 {2F2|1B0} {1F3|2B1} {2F3|1B1} 2B2 1B2 2I3 1I3 2W3 1W3 1U0 2U0
Schedule dualpipev(const ScheduleParams& params) {
  require_v_chunks("dualpipev", params);
  const std::int32_t p = params.num_devices;
  const std::int64_t m = params.num_microbatches;
  require(m >= 2 * std::int64_t{p}, "dualpipev",
          "num_microbatches (" + std::to_string(m) + ") must be at least 2 num_devices (" +
              std::to_string(2 * std::int64_t{p}) + ")");
  const std::int64_t updates = updates_or(params, 1);
  Schedule schedule = v_placed_schedule("dualpipev", params, updates);
  for (std::int32_t d = 0; d < p; ++d) {
    const std::array<DualPipeArm, 2> arms{{{v_stage(p, 0, d), {}, 0}, {v_stage(p, 1, d), {}, 0}}};
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      DualPipeWriter(p, d, m, arms, list).write();
      for (const DualPipeArm& arm : arms) list.add(arm.stage, Op::kU, 0);
    }));
  }
  return schedule;
}

}  // namespace plumb
