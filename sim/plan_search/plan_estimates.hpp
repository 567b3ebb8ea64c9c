#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "models/costs/stage_costs.hpp"
#include "models/stages/partition.hpp"
#include "sim/plan_search/prices/layer_prices.hpp"
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

// Estimates of how long plans take, so that the promising ones are simulated first. They prove nothing.

/// Positions of the pipeline that take `stage` of `variant`: two where copies run in both directions.
std::vector<std::size_t> positions_of(const ScheduleVariant& variant, std::size_t stage, std::size_t places);

/// Returns whether every stage of `variant` has one position, that of `positions_of`.
bool has_known_places(const ScheduleVariant& variant);

/// Returns what every position computes for one microbatch, when `loads` are those of the stages, on places of `speed`.
std::vector<double> position_loads(const ScheduleVariant& variant, const std::vector<double>& loads,
                                   const std::vector<double>& speed);

/// Returns the slowest position for all microbatches, and filling and draining as the schedule does it.
double estimated_ticks(const std::vector<double>& position_loads, std::int64_t microbatches, double fill);

/// Loads of the stages of `cut` by the prices of single layers.
std::vector<double> stage_loads(const LayerPrices& prices, const Partition& cut);

/// Factor on the estimates of plans that probably do not fit.
inline constexpr double kUnlikely = 4;

/// Whether places have room for what schedules probably keep.
class ProbableRoom {
 public:
  explicit ProbableRoom(const LayerPrices& prices);

  /// Returns whether the fullest of so many places has room for a schedule that keeps so much.
  bool fits(std::int32_t places, double kept) const { return !limited_ || held_ / places + kept * stashes_ <= most_; }

  /// Factor on the passes where layers run again until the fullest place has room; 1 where they need not.
  double again(std::int32_t places, double kept) const;

 private:
  bool limited_;
  double most_;     ///< bytes of the largest place
  double held_;     ///< bytes of one copy of the network
  double stashes_;  ///< bytes of a microbatch, with all layers run again that may
  double spared_;   ///< bytes of it that these layers spare
  double longer_;   ///< share of the passes that they add
};

}  // namespace plumb
