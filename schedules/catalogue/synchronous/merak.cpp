#include <algorithm>

#include "schedules/catalogue/generator.hpp"

namespace plumb {
namespace {

/// How much of Merak a schedule has; each level holds those before it.
enum class Level : std::uint8_t { kBase, kPreRecompute, kLastNoRecompute, kShifted };

Level level_of(const ScheduleParams& params) {
  const std::string level = choice("merak", params, "level", {"shifted", "lastnorecompute", "prerecompute", "base"});
  if (level == "base") return Level::kBase;
  if (level == "prerecompute") return Level::kPreRecompute;
  return level == "shifted" ? Level::kShifted : Level::kLastNoRecompute;
}

struct MerakStage {
  std::int64_t after = 0;  ///< stages after this one: 0 for the last
  std::int64_t m = 0;
  Level level{};

  /// The first microbatches of a step that keep their stash.
  std::int64_t kept() const {
    if (level < Level::kLastNoRecompute) return 0;
    if (after == 0) return m;
    const std::int64_t kept = after == 1 ? 1 : 0;
    return std::min(m, level == Level::kShifted && after <= 2 ? kept + 1 : kept);
  }

  /// Whether the recompute of `microbatch` stands before its gradient arrives.
  bool early(std::int64_t microbatch) const {
    return level >= Level::kPreRecompute && microbatch >= m - after && microbatch >= kept();
  }

  void write(ListBuilder& list, StageId stage) const {
    const std::int64_t warmup = std::min(after, m);
    std::int64_t forwards = warmup;
    list.each(warmup, [&] { list.add(stage, Op::kF, 0); });
    std::int64_t first = 0;
    if (level == Level::kShifted && after == 1 && m > 2) {
      list.each(2, [&] { list.add(stage, Op::kF, warmup); });
      list.each(2, [&] { list.add(stage, Op::kB, 0); });
      forwards += 2;
      first = 2;
    }
    const std::int64_t pairs = m - forwards;
    list.each(pairs, [&] {
      list.add(stage, Op::kF, forwards);
      list.add(stage, Op::kB, first);
    });
    for (std::int64_t microbatch = first + pairs; microbatch < m; ++microbatch) {
      if (early(microbatch)) list.add(stage, Op::kR, microbatch);
      list.add(stage, Op::kB, microbatch);
    }
    list.add(stage, Op::kU, 0);
  }
};

/// The rules of the document: what the lists do not recompute themselves.
std::vector<Recompute> rules(const Schedule& schedule, std::int64_t m, Level level) {
  std::vector<Recompute> rules;
  for (std::int32_t stage = 0; stage < schedule.num_stages; ++stage) {
    const std::int64_t kept = MerakStage{schedule.num_stages - 1 - stage, m, level}.kept();
    if (kept == m) continue;
    Recompute rule;
    rule.first_stage = rule.last_stage = stage;
    for (std::int64_t microbatch = 0; kept > 0 && microbatch < schedule.num_microbatches; ++microbatch) {
      if (microbatch % m >= kept) rule.microbatches.push_back(static_cast<std::int32_t>(microbatch));
    }
    if (kept == 0 && !rules.empty() && rules.back().microbatches.empty()) {
      rules.back().last_stage = stage;
    } else {
      rules.push_back(std::move(rule));
    }
  }
  return rules;
}

}  // namespace

/// 1F1B with recompute that keeps it off the critical path: while the pipeline drains, stages recompute before the
/// gradient arrives; the last stage recomputes nothing, the one before it not its first two microbatches, the one
/// before that not its first; and the last but one runs its third forward before its first backward. `level` takes
/// these one by one: base = 1F1B, recompute inside every backward; prerecompute; lastnorecompute (the last but one
/// keeps only its first); shifted (all). With F = R = 1, B = 2 a step takes 4 (m + p - 1), then p - 1 less, 2 less, 1
/// less (p >= 4). Device d keeps min(p - d, m) inputs, the last but one one more; whole activations only of what is not
/// recomputed. Any p and m. (Lai et al., Merak, arXiv 2206.04959; released code, pipeline/schedule.py)
///
///   p = 3, m = 5 (B of what is recomputed holds its recompute where no R stands before it)
///   d0: 0F0 0F1 0F2 0B0 0F3 0B1 0F4 0B2 0R3 0B3 0R4 0B4 0U0
///   d1: 1F0 1F1 1F2 1B0 1B1 1F3 1B2 1F4 1B3 1R4 1B4 1U0
///   d2: 2F0 2B0 2F1 2B1 2F2 2B2 2F3 2B3 2F4 2B4 2U0
Schedule merak(const ScheduleParams& params) {
  require_one_chunk("merak", params);
  const Level level = level_of(params);
  const std::int64_t m = params.num_microbatches;
  const std::int64_t updates = updates_or(params, 1);
  Schedule schedule = looped_schedule("merak", params, 1, updates);
  require(schedule.num_microbatches <= 1 << 20, "merak",
          "num_microbatches (" + std::to_string(schedule.num_microbatches) +
              ") in all must be at most 1048576, because those that are recomputed are listed");
  schedule.parameters["level"] =
      choice("merak", params, "level", {"shifted", "lastnorecompute", "prerecompute", "base"});
  schedule.recompute = rules(schedule, m, level);
  for (std::int32_t d = 0; d < params.num_devices; ++d) {
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      MerakStage{params.num_devices - 1 - d, m, level}.write(list, StageId{d});
    }));
  }
  return schedule;
}

}  // namespace plumb
