#include "schedules/asynchronous/flush_free.hpp"

#include <algorithm>

namespace plumb {
namespace {

/// Writes one device's list; updates stand behind the backward of each m-th microbatch.
struct TurnWriter {
  ListBuilder& list;
  StageId stage;
  std::int64_t m;
  std::int64_t warmup;
  bool overlapped;

  /// Backward `number`, with the forward of its turn when there is one.
  void turn(std::int64_t number, bool with_forward) const {
    if (with_forward && overlapped) {
      list.add_pair(stage, warmup + number, number);
      return;
    }
    if (with_forward) list.add(stage, Op::kF, warmup + number);
    list.add(stage, Op::kB, number);
  }

  /// Turns [begin, end) with the updates between them.
  void turns(std::int64_t begin, std::int64_t end, bool with_forward) const {
    const auto some = [&](std::int64_t from, std::int64_t to) {
      list.each(to - from, [&] { turn(from, with_forward); });
    };
    const auto update_behind = [&](std::int64_t backwards) {
      if (backwards % m == 0) list.add(stage, Op::kU, backwards / m - 1);
    };
    const std::int64_t first_stop = std::min((begin / m + 1) * m, end);
    if (begin % m != 0 && begin < end) {
      some(begin, first_stop);
      update_behind(first_stop);
      begin = first_stop;
    }
    const Advance next_update{.microbatch = static_cast<std::int32_t>(m), .update = 1};
    const std::int64_t whole = (end - begin) / m;
    list.repeat(whole, next_update, [&] {
      some(begin, begin + m);
      update_behind(begin + m);
    });
    some(begin + whole * m, end);
  }
};

}  // namespace

Schedule flush_free_schedule(std::string_view name, const ScheduleParams& params) {
  require_one_chunk(name, params);
  const std::string timing = choice(name, params, "timing", {"1f1b", "slots"});
  const bool slots = timing == "slots";
  const std::int64_t p = params.num_devices;
  const std::int64_t m = params.num_microbatches;
  const std::int64_t fill = slots ? 2 * p - 1 : p;
  const std::int64_t updates =
      updates_or(params, std::clamp(kMostMicrobatches / m, std::int64_t{1}, 4 * ((fill + m - 1) / m)));
  Schedule schedule = looped_schedule(name, params, 1, updates);
  schedule.parameters["timing"] = timing;
  schedule.parameters["updates"] = updates;
  for (std::int32_t d = 0; d < params.num_devices; ++d) {
    const std::int64_t all = schedule.num_microbatches;
    const std::int64_t warmup = std::min(slots ? 2 * (p - d) - 1 : p - 1 - d, all);
    ListBuilder list;
    list.each(warmup, [&] { list.add(StageId{d}, Op::kF, 0); });
    const TurnWriter writer{list, StageId{d}, m, warmup, slots};
    writer.turns(0, all - warmup, true);
    writer.turns(all - warmup, all, false);
    schedule.devices.push_back(list.take());
  }
  return schedule;
}

}  // namespace plumb
