#pragma once

#include "models/pricing/price.hpp"
#include "schedules/document/schedule.hpp"

namespace plumb {

/// What a price from `source` needs to know of `schedule`.
PricingShape pricing_shape(const Schedule& schedule, const CostSource& source);

/// `price` of the stages of `schedule`.
PricedPipeline price(const CostSource& source, const Schedule& schedule);

}  // namespace plumb
