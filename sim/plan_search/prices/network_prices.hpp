#pragma once

#include <cstdint>

#include "models/jobs/parallelism.hpp"
#include "sim/plan_search/plan_job.hpp"
#include "sim/plan_search/prices/layer_prices.hpp"

namespace plumb {

/// Prices of passes alone, and of the least that overlapped pairs leave of them.
struct AloneAndPaired {
  LayerPrices alone{};
  LayerPrices paired{};
};

/// Prices layers on `places` places. Throws what pricing throws.
AloneAndPaired both_layer_prices(const PlanJob& job, const Parallelism& parallelism, std::int32_t places);
/// Returns one of the two: with `overlaps` that of pairs.
LayerPrices layer_prices(const PlanJob& job, const Parallelism& parallelism, std::int32_t places, bool overlaps);

}  // namespace plumb
