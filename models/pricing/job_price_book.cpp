#include "models/pricing/job_price_book.hpp"

#include <cstddef>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "models/jobs/alike_layers.hpp"
#include "models/jobs/job_passes.hpp"
#include "models/jobs/job_places.hpp"
#include "models/jobs/unlike_tensor.hpp"
#include "models/kernels/kernel_rates_io.hpp"

namespace plumb {
struct JobPriceBook::Known {
  /// Mixes the degrees and choices in which jobs usually differ.
  struct ChoiceHash {
    std::size_t operator()(const Parallelism& choice) const {
      std::size_t hash = 0;
      const auto add = [&](std::int64_t number) { hash = hash * 1'000'003 + static_cast<std::size_t>(number); };
      for (const std::int64_t degree : {choice.tensor, choice.context, choice.expert, choice.data}) add(degree);
      add(choice.microbatch_size);
      add(static_cast<std::int64_t>(choice.zero));
      add(static_cast<std::int64_t>(choice.recompute));
      for (const std::int32_t tensor : choice.tensor_by_place) add(tensor);
      add((choice.zero_by_layer ? 1 : 0) + (choice.offload_by_stage ? 2 : 0) + (choice.sequence_parallel ? 4 : 0));
      return hash;
    }
  };

  /// Values of one kind, by choice.
  template <class T>
  class ByChoice {
   public:
    /// Returns the value of `choice`, made by `make` where it is not known yet.
    template <class Make>
    std::shared_ptr<const T> of(const Parallelism& choice, const Make& make) {
      {
        const std::lock_guard lock(mutex_);
        if (const auto found = all_.find(choice); found != all_.end()) return found->second;
      }
      std::shared_ptr<const T> made = make();
      const std::lock_guard lock(mutex_);
      return all_.try_emplace(choice, std::move(made)).first->second;
    }

    std::size_t size() const {
      const std::lock_guard lock(mutex_);
      return all_.size();
    }

   private:
    mutable std::mutex mutex_;
    std::unordered_map<Parallelism, std::shared_ptr<const T>, ChoiceHash> all_;
  };

  ByChoice<JobPrices> prices;
  ByChoice<JobPasses> passes;
  ByChoice<std::vector<std::int64_t>> layer_times;
};

JobPriceBook::JobPriceBook(std::shared_ptr<const Network> network, std::shared_ptr<const Cluster> cluster,
                           const std::optional<KernelRates>& rates)
    : network_(std::move(network)),
      cluster_(std::move(cluster)),
      rates_(rates ? *rates : kernel_rates_of(cluster_->devices.front())),
      alike_(first_alike(network_->layers)),
      known_(std::make_unique<Known>()) {}

JobPriceBook::~JobPriceBook() = default;

std::size_t JobPriceBook::choices() const { return known_->prices.size(); }

JobCosts JobPriceBook::costs(const Parallelism& choice, const Partition& partition, std::int32_t places,
                             const StageChoices& choices) {
  if (!choice.has_unlike_tensor()) return prices(choice)->costs(partition, places, choices);
  return unlike_job_costs(*cluster_, choice, partition, choices, [&](std::int64_t tensor) {
    return prices(with_tensor(choice, tensor))->stages(partition, places);
  });
}

std::shared_ptr<const JobPrices> JobPriceBook::prices(const Parallelism& choice) {
  return known_->prices.of(choice, [&] {
    check_parallelism(*network_, choice);
    check_devices(*cluster_, choice, 1);
    auto passes = known_->passes.of(with_same_passes(choice), [&] {
      return std::make_shared<const JobPasses>(*network_, *cluster_, rates_, choice, alike_);
    });
    return std::make_shared<const JobPrices>(*network_, JobMachine{*cluster_, 1, rates_}, choice, std::move(passes));
  });
}

std::shared_ptr<const std::vector<std::int64_t>> JobPriceBook::layer_times(const Parallelism& choice) {
  return known_->layer_times.of(choice, [&] {
    return std::make_shared<const std::vector<std::int64_t>>(
        job_layer_times(*network_, {*cluster_, 1, rates_}, choice));
  });
}

}  // namespace plumb
