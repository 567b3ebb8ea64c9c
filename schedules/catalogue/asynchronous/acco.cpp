#include <algorithm>
#include <string>
#include <string_view>

#include "schedules/catalogue/generator.hpp"

namespace plumb {
namespace {

constexpr std::string_view kAcco = "acco";

/// One worker, number `first`: `passes` microbatches of every half.
DeviceList acco_worker(std::int64_t first, std::int64_t passes, std::int32_t p, std::int64_t updates) {
  const StageId whole{0};
  const std::int64_t half = p * passes;
  ListBuilder list;
  const auto write_passes = [&](std::int64_t begin) {
    list.repeat(passes, {.microbatch = p}, [&] {
      list.add(whole, Op::kF, begin);
      list.add(whole, Op::kB, begin);
    });
  };
  write_passes(first);
  list.add_collective(whole, Op::kReduceGrad);
  list.repeat(updates - 1, {.microbatch = static_cast<std::int32_t>(half), .update = 1}, [&] {
    write_passes(half + first);
    list.add(whole, Op::kU, 0);
    list.add_collective(whole, Op::kReduceGrad);
  });
  list.add(whole, Op::kU, updates - 1);
  return list.take();
}

}  // namespace

/// Data parallelism without a pipeline whose reductions travel beside the passes of the next half: every worker holds
/// the whole model, and runs m / p microbatches of each half. While the gradients of the first half are reduced, the
/// second half is computed; while those of the second one are, the first half of the next step. An update is that of
/// half a step, so a half takes max(its passes, its reduction). `rule=acco`: the update after a first half is tentative
/// (method acco): it is made from the true weights, gives the weights of the next first half, and is taken back when
/// the gradients of both halves are there. So second halves read the true weights, first halves those of a step ahead.
/// `rule=dpu` (delayed parameter update): every half is a step, one update late. m, of a half, a multiple of p; p at
/// least 2; `updates` counts halves (an even number is trained). A worker keeps one activation and two blocks of
/// gradients. The system takes as many microbatches as fit until the reduction is over, so that it never waits; here
/// their number is given. (Nabli et al., ACCO, NeurIPS 2025, arXiv 2406.02613; released code, edouardoyallon/acco)
///
///   p = 2, m = 2, 2 halves (G: gradients are reduced)
///   d0: 0F0 0B0 0G 0F2 0B2 0U0 0G 0U1
///   d1: 0F1 0B1 0G 0F3 0B3 0U0 0G 0U1
Schedule acco(const ScheduleParams& params) {
  require_one_chunk(kAcco, params);
  const std::int32_t p = params.num_devices;
  const std::int64_t m = params.num_microbatches;
  require(p >= 2, kAcco, "num_devices (" + std::to_string(p) + ") must be at least 2");
  require(m % p == 0, kAcco,
          "num_microbatches (" + std::to_string(m) + ") must be a multiple of num_devices (" + std::to_string(p) + ")");
  const std::int64_t updates = updates_or(params, std::clamp<std::int64_t>(kMostMicrobatches / m, 1, 8));
  const std::string rule = choice(kAcco, params, "rule", {"acco", "dpu"});
  Schedule schedule = looped_schedule(kAcco, params, 1, updates);
  schedule.parameters["rule"] = rule;
  schedule.parameters["updates"] = updates;
  schedule.num_stages = 1;
  schedule.placement = {{{}}};
  schedule.weights.policy = WeightPolicy::kDelay;
  if (rule == "acco") schedule.weights.methods = {{"acco", {}}};
  for (std::int32_t worker = 0; worker < p; ++worker) {
    schedule.placement[0][0].push_back(DeviceId{worker});
    schedule.devices.push_back(acco_worker(worker, m / p, p, updates));
  }
  return schedule;
}

}  // namespace plumb
