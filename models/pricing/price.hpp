#pragma once

#include <cstdint>
#include <functional>

#include "models/costs/stage_costs.hpp"
#include "models/pricing/cost_source.hpp"
#include "models/pricing/priced_pipeline.hpp"
#include "models/pricing/pricing_shape.hpp"

namespace plumb {

/// Returns the costs of every stage of a pipeline of this shape. Throws `Error` for a cluster with too few devices, and
/// for whatever of the source does not fit the shape.
PricedPipeline price(const CostSource& source, const PricingShape& shape);

/// Costs of so many stages on `num_devices` devices, for schedules that are searched for their costs. Where messages
/// take a cluster's links, every edge takes as long as the longest message between neighbours. `source` is copied.
std::function<StageCosts(std::int32_t num_stages)> costs_for_search(const CostSource& source, std::int32_t num_devices);

}  // namespace plumb
