#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "models/cluster/cluster.hpp"
#include "models/kernels/kernel_rates.hpp"
#include "models/network/network.hpp"
#include "sim/plan_search/plan_job.hpp"
#include "sim/prediction/memory_fit.hpp"

namespace plumb {

/// What the stages of a job depend on besides its network and cluster.
struct PricingLimits {
  std::int64_t memory_bytes = 0;  ///< memory of every device; 0: what the cluster says
  FitMargin margin = FitMargin::kNone;
  double host_bytes_per_s = 0;  ///< between a device and its host, for stashes that are moved there; 0: not modelled
  /// The system that runs the job (sim/runtimes); empty: plumbline. It must outlive the prices.
  std::string_view runtime{};
};

/// Prices stages by `job_costs` (models/jobs). `network` and `cluster` are copied. What a place can use is its memory
/// without all that is held beside tensors (`largest_peak`).
///
/// Networks with measured layers (`LayerKind::kProfiled`) have the times that were measured, on devices of their speed
/// and FLOP/s relative to the first one, and all of the memory; their stages cannot be spread over several devices.
StagePricing job_pricing(const Network& network, const Cluster& cluster, const std::optional<KernelRates>& rates,
                         const PricingLimits& limits);

}  // namespace plumb
