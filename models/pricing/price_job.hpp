#pragma once

#include <cstdint>
#include <vector>

#include "models/pricing/cost_source.hpp"
#include "models/pricing/priced_pipeline.hpp"
#include "models/pricing/pricing_shape.hpp"

namespace plumb {

/// `price` of a job: the stages spread over its devices.
PricedPipeline price_job(const AnalyticJob& job, const PricingShape& shape);

/// Returns, by stage, one of the devices that hold it, where places have `degrees` tensor ranks. Throws `Error` where
/// devices that hold the same stage have unlike degrees.
std::vector<std::int32_t> places_of_stages(const PricingShape& shape, const std::vector<std::int32_t>& degrees);

}  // namespace plumb
