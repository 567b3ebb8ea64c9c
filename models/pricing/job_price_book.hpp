#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "models/jobs/job_costs.hpp"
#include "models/jobs/parallelism.hpp"
#include "models/jobs/stage_choices.hpp"
#include "models/kernels/kernel_rates.hpp"

namespace plumb {

/// Prices of one network on one cluster, for every choice of degrees that was asked for. What choices have in common
/// (passes, stages, layers) is computed once. Safe to use from several threads.
class JobPriceBook {
 public:
  /// `rates`: none, those that are known of the cluster's devices (`kernel_rates_of`).
  JobPriceBook(std::shared_ptr<const Network> network, std::shared_ptr<const Cluster> cluster,
               const std::optional<KernelRates>& rates = {});
  ~JobPriceBook();
  JobPriceBook(const JobPriceBook&) = delete;
  JobPriceBook& operator=(const JobPriceBook&) = delete;

  const std::shared_ptr<const Network>& network() const { return network_; }
  const std::shared_ptr<const Cluster>& cluster() const { return cluster_; }
  const KernelRates& rates() const { return rates_; }

  /// `job_costs`, or `unlike_job_costs` where places have unlike tensor degrees; throws as they do.
  JobCosts costs(const Parallelism& choice, const Partition& partition, std::int32_t places,
                 const StageChoices& choices = {});
  /// Returns the prices of single stages of one choice; not of unlike tensor degrees.
  std::shared_ptr<const JobPrices> prices(const Parallelism& choice);
  /// `job_layer_times`.
  std::shared_ptr<const std::vector<std::int64_t>> layer_times(const Parallelism& choice);

  /// Returns how many choices of degrees have prices of single stages.
  std::size_t choices() const;

 private:
  struct Known;

  std::shared_ptr<const Network> network_;
  std::shared_ptr<const Cluster> cluster_;
  KernelRates rates_;
  std::vector<std::int32_t> alike_;
  std::unique_ptr<Known> known_;
};

}  // namespace plumb
