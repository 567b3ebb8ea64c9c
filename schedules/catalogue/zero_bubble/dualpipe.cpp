#include <algorithm>
#include <string>

#include "schedules/catalogue/zero_bubble/dualpipe_writer.hpp"

namespace plumb {

/// Two pipelines in opposite directions over the same devices, each with its own copy of the model and half of the
/// microbatches; in the steady phase a forward of one runs overlapped with a backward of the other, and weight
/// gradients fill the drain. Idle time: (p / 2 - 1)(FB + B - 3W). Every device keeps p + 1 activations. Needs p even, m
/// even, m >= 2p. (DualPipe: DeepSeek-V3 Technical Report, arXiv 2412.19437, section 3.2.1, table 2; order of the
/// released code, github.com/deepseek-ai/DualPipe)
///
///   p = 2, m = 4; {a|b} is (a;b)OVERLAP_F_B, reductions and updates left out
///   d0: 0F0 1:1F2 0F1 1:1B2 {1:1F3|0B0} 1:1B3 0I1 0W1
///   d1: 1:0F2 1F0 1:0F3 1B0 {1F1|1:0B2} 1B1 1:0I3 1:0W3
Schedule dualpipe(const ScheduleParams& params) {
  require_one_chunk("dualpipe", params);
  const std::int32_t p = params.num_devices;
  const std::int64_t m = params.num_microbatches;
  require(p % 2 == 0, "dualpipe", "num_devices (" + std::to_string(p) + ") must be even");
  require(m % 2 == 0 && m >= 2 * std::int64_t{p}, "dualpipe",
          "num_microbatches (" + std::to_string(m) + ") must be even and at least 2 num_devices (" +
              std::to_string(2 * std::int64_t{p}) + ")");
  const std::int64_t updates = updates_or(params, 1);
  Schedule schedule = looped_schedule("dualpipe", params, 1, updates);
  auto up = schedule.placement[0];
  std::reverse(up.begin(), up.end());
  schedule.placement.push_back(up);
  for (std::int32_t d = 0; d < p; ++d) {
    const DualPipeArm down{StageId{d}, ReplicaId{0}, 0};
    const DualPipeArm back{StageId{p - 1 - d}, ReplicaId{1}, m / 2};
    const bool first_half = d < p / 2;
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      const std::array<DualPipeArm, 2> arms{first_half ? down : back, first_half ? back : down};
      DualPipeWriter(p / 2, std::min(d, p - 1 - d), m / 2, arms, list).write();
      // Arm 0 of both devices that hold a pair of stages is the same stage, so they reduce in the same order.
      for (const DualPipeArm& arm : arms) list.add_collective(arm.stage, Op::kReduceGrad, arm.replica);
      for (const DualPipeArm& arm : arms) list.add(arm.stage, Op::kU, 0, arm.replica);
    }));
  }
  return schedule;
}

}  // namespace plumb
