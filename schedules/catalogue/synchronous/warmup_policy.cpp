#include "schedules/catalogue/synchronous/warmup_policy.hpp"

#include <algorithm>

#include "schedules/catalogue/synchronous/recompute_option.hpp"

namespace plumb {
namespace {

/// One device's step: `warmup` forwards, then pairs of a forward and a backward, then the remaining backwards.
class WarmupStepWriter {
 public:
  WarmupStepWriter(ListBuilder& list, StageId stage, const RecomputeChoice& recompute)
      : list_(list), stage_(stage), recompute_(recompute) {}

  void write(std::int64_t warmup, std::int64_t m) const {
    const std::int64_t kept = recompute_.except_last ? 1 : 0;  // the last microbatch, whose stash is kept
    const std::int64_t pairs = m - warmup;
    list_.each(warmup, [&] { list_.add(stage_, Op::kF, 0); });
    if (warmup > 0) {
      backwards({.forward = warmup, .first = 0, .count = pairs, .again = true});
      backwards({.first = pairs, .count = warmup - kept, .again = true});
      backwards({.first = m - kept, .count = kept});
    } else {
      backwards({.forward = 0, .first = 0, .count = m - kept, .again = true});
      backwards({.forward = m - kept, .first = m - kept, .count = kept});
    }
    list_.add(stage_, Op::kU, 0);
  }

 private:
  struct Run {
    std::int64_t forward = -1;  ///< first microbatch of the forwards between the backwards; -1: none
    std::int64_t first = 0;     ///< first microbatch of the backwards
    std::int64_t count = 0;
    bool again = false;  ///< their forwards are run again if the choice asks for it
  };

  void backwards(const Run& run) const {
    list_.each(run.count, [&] {
      if (run.forward >= 0) list_.add(stage_, Op::kF, run.forward);
      if (run.again) add_recompute(list_, recompute_, stage_, run.first);
      list_.add(stage_, Op::kB, run.first);
    });
  }

  ListBuilder& list_;
  StageId stage_;
  const RecomputeChoice& recompute_;
};

}  // namespace

Schedule alternating_pipeline(std::string_view name, const ScheduleParams& params, WarmupPolicy policy) {
  require_one_chunk(name, params);
  const std::int64_t p = params.num_devices;
  const std::int64_t m = params.num_microbatches;
  const std::int64_t updates = updates_or(params, 1);
  const std::int64_t limit = whole_number(name, params, "limit", std::max(2 * p, m));
  Schedule schedule = looped_schedule(name, params, 1, updates);
  if (params.options.contains("limit")) schedule.parameters["limit"] = limit;
  const RecomputeChoice recompute = recompute_choice(name, params, schedule);
  for (std::int64_t d = 0; d < p; ++d) {
    const std::int64_t ahead = std::min({policy == WarmupPolicy::kA ? p - d : 2 * (p - d) - 1, limit, m});
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      WarmupStepWriter(list, StageId{static_cast<std::int32_t>(d)}, recompute).write(ahead - 1, m);
    }));
  }
  return schedule;
}

}  // namespace plumb
