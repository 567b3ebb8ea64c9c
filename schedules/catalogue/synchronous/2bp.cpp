#include <algorithm>

#include "schedules/catalogue/generator.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kMostConcatenated = 128;

struct Variant {
  bool gpipe = false;       ///< all forwards first; otherwise 1f1b
  bool gaps = true;         ///< weight gradients fill the waits of the drain; otherwise all of them come last
  std::int64_t concat = 1;  ///< weight gradients at the end are taken so many at a time
};

/// Writes one device's step.
struct TwoBpStepWriter {
  ListBuilder& list;
  StageId stage;
  std::int64_t m;
  const Variant& variant;

  void inputs(std::int64_t first, std::int64_t count) const {
    list.each(count, [&] { list.add(stage, Op::kI, first); });
  }

  /// The drain: inputs `first` to m - 1, each after the weight gradient of one that is done. Returns how many were
  /// taken.
  std::int64_t drain(std::int64_t first) const {
    const std::int64_t bare = variant.gaps ? std::min<std::int64_t>(first == 0 ? 1 : 0, m) : m - first;
    inputs(first, bare);
    const std::int64_t filled = m - first - bare;
    list.each(filled, [&] {
      list.add(stage, Op::kW, 0);
      list.add(stage, Op::kI, first + bare);
    });
    return filled;
  }

  void rest(std::int64_t first) const {
    const std::int64_t whole = (m - first) / variant.concat;
    const std::int64_t left = (m - first) % variant.concat;
    list.repeat(whole, {.microbatch = static_cast<std::int32_t>(variant.concat)},
                [&] { list.add_merged(stage, Op::kW, first, variant.concat); });
    if (left > 0) list.add_merged(stage, Op::kW, m - left, left);
  }

  void step(std::int64_t warmup) const {
    list.each(warmup, [&] { list.add(stage, Op::kF, 0); });
    list.each(m - warmup, [&] {
      list.add(stage, Op::kF, warmup);
      list.add(stage, Op::kI, 0);
    });
    if (variant.gpipe) {
      inputs(0, m);
      rest(0);
    } else {
      rest(drain(m - warmup));
    }
    list.add(stage, Op::kU, 0);
  }
};

Variant variant_of(const ScheduleParams& params, Schedule& schedule) {
  const std::string base = choice("2bp", params, "base", {"1f1b", "gpipe"});
  const std::string weights = choice("2bp", params, "weights", {"gaps", "end"});
  const std::int64_t concat = whole_number("2bp", params, "concat", 1);
  require(concat <= kMostConcatenated, "2bp",
          "concat (" + std::to_string(concat) + ") must be at most " + std::to_string(kMostConcatenated));
  schedule.parameters["base"] = base;
  schedule.parameters["weights"] = weights;
  if (concat > 1) schedule.parameters["concat"] = concat;
  return {base == "gpipe", weights == "gaps", concat};
}

}  // namespace

/// Two-stage backpropagation: the backward of a base schedule is split; its input gradient leaves at once, its weight
/// gradient is put off to where the device would wait, the rest to the end of the step. `base=1f1b` (m = p: the
/// paper's 1F1B-1, m = 2p: 1F1B-2) or `base=gpipe` (m = 1: its naive model parallelism). `weights=end` fills no gaps;
/// `concat=N` takes the weight gradients at the end N at a time. Any p and m. Keeps the inputs of weight gradients of
/// up to all m microbatches; the rest as the base does.
/// (2BP: Rosselet et al., arXiv 2405.18047; the paper's p1 and p2 are our I and W)
///
///   p = 3, m = 3
///   d0: 0F0 0F1 0F2 0I0 0W0 0I1 0W1 0I2 0W2 0U0
///   d1: 1F0 1F1 1I0 1F2 1I1 1W0 1I2 1W1 1W2 1U0
///   d2: 2F0 2I0 2F1 2I1 2F2 2I2 2W0 2W1 2W2 2U0
Schedule two_stage_backward(const ScheduleParams& params) {
  require_one_chunk("2bp", params);
  const std::int64_t m = params.num_microbatches;
  const std::int64_t updates = updates_or(params, 1);
  Schedule schedule = looped_schedule("2bp", params, 1, updates);
  const Variant variant = variant_of(params, schedule);
  for (std::int32_t d = 0; d < params.num_devices; ++d) {
    const std::int64_t warmup = variant.gpipe ? m : std::min<std::int64_t>(params.num_devices - 1 - d, m);
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      TwoBpStepWriter{list, StageId{d}, m, variant}.step(warmup);
    }));
  }
  return schedule;
}

}  // namespace plumb
