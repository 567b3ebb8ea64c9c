#pragma once

#include "models/pricing/price.hpp"
#include "schedules/document/schedule.hpp"

namespace plumb {

/// Stages with layers that a device's share of one copy of the model consists of: those of the fullest device; where
/// that holds the whole model, those that an even division among all devices gives to each, as it does a part of the
/// work only (weights that travel, cyclic data parallelism).
std::int32_t stages_per_device(const Schedule& schedule);

/// What a price from `source` needs to know of `schedule`.
PricingShape pricing_shape(const Schedule& schedule, const CostSource& source);

/// `price` of the stages of `schedule`.
PricedPipeline price(const CostSource& source, const Schedule& schedule);

}  // namespace plumb
