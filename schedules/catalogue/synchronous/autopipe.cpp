#include <algorithm>

#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/run_time_rule.hpp"
#include "schedules/program/list_times.hpp"

namespace plumb {
namespace {

constexpr std::int32_t kMostDevicesSliced = 512;

/// Writes one device's step of 1F1B in which the forwards of the first `sliced` microbatches come in two halves.
struct SlicedWriter {
  ListBuilder& list;
  StageId stage;
  std::int64_t m;
  std::int64_t sliced;

  void forwards(std::int64_t begin, std::int64_t end) const {
    const std::int64_t halves = std::min(std::max(begin, sliced), end);
    list.each(halves - begin, [&] {
      list.add_slice(stage, Op::kF, begin, 0);
      list.add_slice(stage, Op::kF, begin, 1);
    });
    list.each(end - halves, [&] { list.add(stage, Op::kF, halves); });
  }

  void step(std::int64_t warmup) const {
    const std::int64_t after = std::max(warmup, std::min(sliced, m));  // from here on every forward is whole
    forwards(0, warmup);
    for (std::int64_t forward = warmup; forward < after; ++forward) {
      forwards(forward, forward + 1);
      list.add(stage, Op::kB, forward - warmup);
    }
    list.each(m - after, [&] {
      list.add(stage, Op::kF, after);
      list.add(stage, Op::kB, after - warmup);
    });
    list.each(warmup, [&] { list.add(stage, Op::kB, m - warmup); });
    list.add(stage, Op::kU, 0);
  }
};

Schedule sliced_schedule(const ScheduleParams& params, std::int64_t sliced) {
  const std::int64_t m = params.num_microbatches;
  const std::int64_t updates = updates_or(params, 1);
  Schedule schedule = looped_schedule("autopipe", params, 1, updates);
  schedule.parameters["sliced"] = sliced;
  if (sliced > 0) schedule.slices = Slices{Slices::Axis::kBatch, {{1, 1}}};
  for (std::int32_t d = 0; d < params.num_devices; ++d) {
    const std::int64_t warmup = std::min<std::int64_t>(params.num_devices - 1 - d, m);
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      SlicedWriter{list, StageId{d}, m, sliced}.step(warmup);
    }));
  }
  return schedule;
}

/// The time of one step of at most 2p microbatches: the start is all that matters.
Ticks start_up(ScheduleParams params, const ChainTimes& times, std::int64_t sliced) {
  params.num_microbatches = std::min<std::int64_t>(params.num_microbatches, 2 * params.num_devices);
  params.updates = 1;
  const auto duration = [&](const Action& action) {
    const std::size_t stage = index(action.stage);
    if (action.op == Op::kB) return 2 * times.backward[stage];
    if (action.op != Op::kF) return Ticks{0};
    return (action.slice == Action::kAllSlices ? 2 : 1) * times.forward[stage];
  };
  return list_times(sliced_schedule(params, sliced), duration, 2 * times.transfer).makespan;
}

/// From one on, more until that no longer makes the start shorter.
std::int64_t enough_sliced(const ScheduleParams& params) {
  const ChainTimes times = chain_times(params, params.num_devices);
  std::int64_t sliced = 0;
  Ticks best = start_up(params, times, 0);
  while (sliced < std::min<std::int64_t>(params.num_microbatches, params.num_devices)) {
    const Ticks next = start_up(params, times, sliced + 1);
    if (next >= best) break;
    best = next;
    ++sliced;
  }
  return sliced;
}

}  // namespace

/// 1F1B whose first `sliced` microbatches go forward in two halves of the batch, so that the pipeline fills in half the
/// time: (p - 1) F / 2 less than 1F1B. Backwards stay whole. By default as few are cut as that takes, found by playing
/// the start through with the given costs (without: B = 2 F). AutoPipe's other half, the partition, is `models/`.
/// Device d keeps at most min(p - d, m) activations, as 1F1B does. Any m; p <= 512.
/// (Liu et al., AutoPipe, CLUSTER 2022; released code in Merak, autopipe.cpp)
///
///   p = 3, m = 4, sliced = 1
///   d0: 0F0.0 0F0.1 0F1 0F2 0B0 0F3 0B1 0B2 0B3 0U0
///   d1: 1F0.0 1F0.1 1F1 1B0 1F2 1B1 1F3 1B2 1B3 1U0
///   d2: 2F0.0 2F0.1 2B0 2F1 2B1 2F2 2B2 2F3 2B3 2U0
Schedule autopipe(const ScheduleParams& params) {
  require_one_chunk("autopipe", params);
  require(
      params.num_devices <= kMostDevicesSliced, "autopipe",
      "num_devices (" + std::to_string(params.num_devices) + ") must be at most " + std::to_string(kMostDevicesSliced));
  if (!params.options.contains("sliced")) return sliced_schedule(params, enough_sliced(params));
  const std::int64_t sliced = whole_number("autopipe", params, "sliced", 1);
  require(sliced <= std::min<std::int64_t>(params.num_microbatches, 2 * params.num_devices), "autopipe",
          "sliced (" + std::to_string(sliced) + ") must be at most num_microbatches and at most 2 num_devices");
  return sliced_schedule(params, sliced);
}

}  // namespace plumb
