#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <tuple>

#include "models/costs/stage_costs.hpp"
#include "sim/plan_search/schedule_variants.hpp"

namespace plumb {

/// How long a schedule fills and drains and how many activations it keeps, in proportion: what an estimate of a plan
/// needs. It proves nothing.
struct ScheduleShape {
  /// Idle time of a place for each place besides it, in times of what it computes for one microbatch: 1 of 1F1B.
  double fill = 1;
  /// Microbatches whose stashes the fullest place keeps, in stashes of the whole network: 1 of 1F1B.
  double kept = 1;
};

/// Shapes of schedules, measured on four places with equal stages. May be asked by several threads.
class ScheduleShapes {
 public:
  /// `turns`: microbatches for each place. Of `times` only the proportions of F, I and W count. The shape of 1F1B for a
  /// schedule that four places cannot have.
  ScheduleShape of(const ScheduleVariant& variant, double turns, const StageTimes& times);

 private:
  using Key = std::tuple<std::string_view, std::int32_t, std::int64_t, std::int64_t, std::int64_t>;

  ScheduleShape measured(const ScheduleVariant& variant, std::int64_t microbatches, std::int64_t forward_share,
                         std::int64_t input_share);

  std::mutex mutex_;
  std::map<Key, ScheduleShape> known_;
};

}  // namespace plumb
