#include "schedules/catalogue/generator.hpp"

namespace plumb {
namespace {

/// How an image comes about: `steps` denoising steps over `patches` patches, the first `warmup` of them over the whole
/// image at once. Microbatch t * patches + k is patch k of step t.
struct Denoising {
  std::int64_t patches = 0;
  std::int64_t warmup = 0;
  std::int64_t steps = 0;
};

Denoising checked(const ScheduleParams& params) {
  const std::int64_t m = params.num_microbatches;
  const std::int64_t patches =
      whole_number("pipefusion", params, "patches", std::min<std::int64_t>(params.num_devices, m));
  require(patches <= 128 && m % patches == 0, "pipefusion",
          "patches (" + std::to_string(patches) + ") must be at most 128 and divide num_microbatches (" +
              std::to_string(m) + "), which is patches times steps");
  const std::int64_t steps = m / patches;
  const std::int64_t warmup = whole_number("pipefusion", params, "warmup", 1);
  require(
      warmup <= steps, "pipefusion",
      "warmup (" + std::to_string(warmup) + ") must be at most the number of steps (" + std::to_string(steps) + ")");
  require(m * updates_or(params, 1) <= 1 << 16, "pipefusion",
          "num_microbatches in all (" + std::to_string(m * updates_or(params, 1)) +
              ") must be at most 65536, because every patch of a step waits for the same one of the step before");
  return {patches, warmup, steps};
}

Action forward(std::int64_t stage, std::int64_t first, std::int64_t count) {
  Action action;
  action.stage = StageId{static_cast<std::int32_t>(stage)};
  action.op = Op::kF;
  action.microbatch = MicrobatchId{static_cast<std::int32_t>(first)};
  action.merged = static_cast<std::uint8_t>((count - 1) & 0x7F);
  return action;
}

/// The first stage takes up a patch of a step once the last one has finished it in the step before.
void add_edges(Schedule& schedule, const Denoising& image, std::int64_t first) {
  const std::int64_t last = schedule.num_stages - 1;
  for (std::int64_t step = 1; step < image.steps; ++step) {
    const std::int64_t before = first + (step - 1) * image.patches;
    for (std::int64_t k = 0; k < (step < image.warmup ? 1 : image.patches); ++k) {
      const bool whole = step <= image.warmup;
      const Action needed = whole ? forward(last, before, image.patches) : forward(last, before + k, 1);
      const std::int64_t at = before + image.patches + k;
      schedule.extra_edges.push_back({needed, forward(0, at, step < image.warmup ? image.patches : 1)});
    }
  }
}

}  // namespace

/// Inference of diffusion transformers: the patches of an image stream through the stages, step after step without a
/// flush, because a patch takes what it needs of the other patches from the step before. The first `warmup` steps
/// (default 1) run the whole image at once; they take p patches F each. A patch starts a step when it has come out of
/// the last stage: with patches >= p the rest takes ((steps - warmup) patches + p - 1) F, otherwise every step p F.
/// `-m` is patches times steps; `patches=M` (default p, or m when that is less). Needs patches to divide m and
/// 1 <= warmup <= steps; `updates` makes further images. Nothing is kept but the stale values, which are part of the
/// workspace. (Fang et al., PipeFusion, arXiv 2405.14430; released code, xDiT)
///
///   p = 2, patches = 2, m = 6 (three steps)
///   d0: 0F0+1 0F2 0F3 0F4 0F5
///   d1: 1F0+1 1F2 1F3 1F4 1F5
Schedule pipefusion(const ScheduleParams& params) {
  require_one_chunk("pipefusion", params);
  const Denoising image = checked(params);
  const std::int64_t updates = updates_or(params, 1);
  Schedule schedule = looped_schedule("pipefusion", params, 1, updates);
  schedule.parameters["patches"] = image.patches;
  schedule.parameters["warmup"] = image.warmup;
  schedule.forward_only = true;
  for (std::int32_t d = 0; d < params.num_devices; ++d) {
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      for (std::int64_t step = 0; step < image.warmup; ++step) {
        list.add_merged(StageId{d}, Op::kF, step * image.patches, image.patches);
      }
      const std::int64_t first = image.warmup * image.patches;
      list.each(params.num_microbatches - first, [&] { list.add(StageId{d}, Op::kF, first); });
    }));
  }
  if (params.num_devices == 1) return schedule;
  for (std::int64_t update = 0; update < updates; ++update) {
    add_edges(schedule, image, update * params.num_microbatches);
  }
  return schedule;
}

}  // namespace plumb
