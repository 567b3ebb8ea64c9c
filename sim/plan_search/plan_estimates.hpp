#pragma once

#include <cstdint>
#include <vector>

#include "models/stages/partition.hpp"
#include "sim/plan_search/layer_prices.hpp"
#include "sim/plan_search/schedule_shape.hpp"
#include "sim/plan_search/schedule_variants.hpp"

namespace plumb {

// Estimates of how long plans take, so that the promising ones are simulated first. They prove nothing.

/// Positions of the pipeline that take `stage` of `variant`: two where copies run in both directions.
std::vector<std::size_t> positions_of(const ScheduleVariant& variant, std::size_t stage, std::size_t places);

/// What every position computes for one microbatch, when `loads` are those of the stages, on places of `speed`.
std::vector<double> position_loads(const ScheduleVariant& variant, const std::vector<double>& loads,
                                   const std::vector<double>& speed);

/// The slowest position for all microbatches, and filling and draining as the schedule does it.
double estimated_ticks(const std::vector<double>& position_loads, std::int64_t microbatches, double fill);

/// Loads of the stages of `cut` by the prices of single layers.
std::vector<double> stage_loads(const LayerPrices& prices, const Partition& cut);

/// Factor on the estimates of plans that probably do not fit.
inline constexpr double kUnlikely = 4;

/// Of a schedule on so many places: whether the fullest place has room for what it probably keeps.
bool has_probably_room(const LayerPrices& prices, std::int32_t places, double kept);

}  // namespace plumb
