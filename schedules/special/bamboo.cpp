#include <algorithm>

#include "schedules/generator.hpp"

namespace plumb {

/// 1F1B whose devices also keep the weights of the stage behind theirs and repeat its forward, so that they can take
/// over when that device is lost. The redundant forward of microbatch k, X<k>, stands right before the device waits for
/// the gradient of k: in the bubble of pipelines whose stages grow slower towards the end. Where they do not, it is
/// exposed: with equal stages a step takes (m + p - 1)(F + B) + m X.
/// The last device waits for no gradient and repeats nothing; `wrap=yes` has it repeat the forward of the first stage
/// before each backward. The redundant backward runs only after a loss and is not part of the schedule.
/// Device d keeps min(p - d, m) activations; the stashes of redundant forwards go to the host at once (not modelled).
/// Weights: twice (a correction buffer as large as the device's own). Any p and m.
/// (Thorpe et al., Bamboo, arXiv 2204.12013; released code, uclasystem/bamboo)
///
///   p = 3, m = 4
///   d0: 0F0 0F1 0F2 0X0 0B0 0F3 0X1 0B1 0X2 0B2 0X3 0B3 0U0
///   d1: 1F0 1F1 1X0 1B0 1F2 1X1 1B1 1F3 1X2 1B2 1X3 1B3 1U0
///   d2: 2F0 2B0 2F1 2B1 2F2 2B2 2F3 2B3 2U0
Schedule bamboo(const ScheduleParams& params) {
  require_one_chunk("bamboo", params);
  const bool wrap = choice("bamboo", params, "wrap", {"no", "yes"}) == "yes";
  const std::int64_t m = params.num_microbatches;
  const std::int64_t updates = updates_or(params, 1);
  Schedule schedule = looped_schedule("bamboo", params, 1, updates);
  require(schedule.num_microbatches <= 1 << 20, "bamboo",
          "num_microbatches (" + std::to_string(schedule.num_microbatches) +
              ") in all must be at most 1048576, because redundant work is declared one by one");
  schedule.parameters["wrap"] = wrap;
  schedule.weights.correction_buffers = {"weights of the next stage"};
  const bool any = wrap || params.num_devices > 1;
  for (std::int64_t k = 0; any && k < schedule.num_microbatches; ++k) schedule.extras["X" + std::to_string(k)] = 1;
  for (std::int32_t d = 0; d < params.num_devices; ++d) {
    const StageId stage{d};
    const bool redundant = wrap || d + 1 < params.num_devices;
    const std::int64_t warmup = std::min<std::int64_t>(params.num_devices - 1 - d, m);
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      const auto backward = [&](std::int64_t microbatch) {
        if (redundant) list.add(stage, Op::kX, microbatch);
        list.add(stage, Op::kB, microbatch);
      };
      list.each(warmup, [&] { list.add(stage, Op::kF, 0); });
      list.each(m - warmup, [&] {
        list.add(stage, Op::kF, warmup);
        backward(0);
      });
      list.each(warmup, [&] { backward(m - warmup); });
      list.add(stage, Op::kU, 0);
    }));
  }
  return schedule;
}

}  // namespace plumb
