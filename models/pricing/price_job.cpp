#include "models/pricing/price_job.hpp"

#include <numeric>
#include <utility>
#include <vector>

#include "models/cluster/speed_only.hpp"
#include "models/ground/error.hpp"
#include "models/jobs/job_costs.hpp"
#include "models/jobs/job_places.hpp"
#include "models/jobs/vocabulary_shares.hpp"
#include "models/kernels/rates_text.hpp"
#include "models/pricing/cluster_size.hpp"
#include "models/pricing/profiled_network.hpp"
#include "models/stages/network_costs.hpp"

namespace plumb {
namespace {

/// "tp 8, dp 16".
std::string degrees_text(const Parallelism& job) {
  std::string text;
  const auto add = [&](const char* name, std::int64_t degree) {
    if (degree > 1) text += std::string(", ") + name + " " + std::to_string(degree);
  };
  if (job.has_unlike_tensor()) {
    text += ", tp " + counts_text(job.tensor_by_place);
  } else {
    add("tp", job.tensor);
  }
  add("cp", job.context);
  add("ep", job.expert);
  add("dp", job.data);
  if (job.zero != ZeroStage::kNone) text += ", zero " + std::to_string(static_cast<int>(job.zero));
  return text;
}

/// Throws `Error` for what the schedule and the job cannot both do.
void check_shape(const AnalyticJob& job, const PricingShape& shape) {
  const Parallelism& ranks = job.parallelism;
  if (shape.recompute && ranks.recompute >= ActivationRecompute::kFull) {
    throw Error("--recompute: the schedule recomputes whole stages already, expected no recompute of whole layers");
  }
  if (shape.vocabulary && (job.choices != StageChoices{} || ranks.has_unlike_tensor())) {
    throw Error(
        "--recompute, --shard-layers, --tp-by-rank: the schedule divides the vocabulary, expected nothing of single "
        "stages");
  }
  const std::vector<std::int32_t>& by_place = ranks.has_unlike_tensor() ? ranks.tensor_by_place : job.tensor_by_place;
  if (!by_place.empty() && std::ssize(by_place) != shape.num_devices) {
    throw Error("--tp-by-rank: " + counts_text(by_place) + " has " + std::to_string(by_place.size()) +
                " degrees, expected one for each of the " + std::to_string(shape.num_devices) + " pipeline ranks");
  }
  std::string each;
  if (ranks.has_unlike_tensor()) {
    each = " with tensor degrees " + counts_text(ranks.tensor_by_place);
  } else if (ranks.devices_per_stage() > 1) {
    each = " with " + std::to_string(ranks.devices_per_stage()) + " devices each (tensor x context x data)";
  }
  check_cluster_size(job.cluster(), place_devices(job.cluster(), ranks, shape.num_devices).back().end(),
                     job.cluster_name, "a pipeline of " + std::to_string(shape.num_devices) + each);
}

/// Returns what the stages with layers divide among them.
std::shared_ptr<const Network> layers_of(const AnalyticJob& job, const PricingShape& shape) {
  return shape.vocabulary ? std::make_shared<const Network>(without_vocabulary(job.network())) : job.book->network();
}

JobCosts costs_of(const AnalyticJob& job, const PricingShape& shape, const Partition& partition) {
  const Parallelism& ranks = job.parallelism;
  if (shape.vocabulary) {
    const JobMachine machine{job.cluster(), shape.num_devices, job.book->rates()};
    return vocabulary_job_costs(job.network(), partition, machine, ranks, *shape.vocabulary);
  }
  StageChoices choices = job.choices;
  if (ranks.has_unlike_tensor() && choices.places.empty()) {
    choices.places = places_of_stages(shape, ranks.tensor_by_place);
  }
  return job.book->costs(ranks, partition, shape.num_devices, choices);
}

/// Returns the time of every layer that the stages divide among them.
std::vector<std::int64_t> times_of_layers(const AnalyticJob& job, const Network& layers, const PricingShape& shape) {
  if (!shape.vocabulary) return *job.book->layer_times(job.parallelism);
  return job_layer_times(layers, {job.cluster(), shape.num_devices, job.book->rates()}, job.parallelism);
}

MicrobatchShape microbatch_of(const AnalyticJob& job) {
  const auto or_own = [](std::int64_t asked, std::int64_t own) { return asked > 0 ? asked : own; };
  return {or_own(job.parallelism.microbatch_size, job.network().samples),
          or_own(job.parallelism.sequence, job.network().sequence)};
}

/// Returns the measured times of the layers, on devices of their speed.
PricedPipeline price_measured_layers(const AnalyticJob& job, const PricingShape& shape) {
  const Cluster cluster = with_speeds_only(job.cluster());
  PricedPipeline priced;
  priced.network = job.book->network();
  priced.partition = cut_network(job.cut, {job.network(), job.network_name}, shape.num_stages,
                                 [&] { return profiled_layer_times(job.network(), cluster, job.parallelism); });
  priced.costs = profiled_network_costs(job.network(), *priced.partition, cluster, job.parallelism);
  priced.cluster = pipeline_of(cluster, job.parallelism, shape.num_devices);
  priced.stands_on = "times of layers as the network's document has them";
  return priced;
}

PricedPipeline price_kernels(const AnalyticJob& job, const PricingShape& shape) {
  PricedPipeline priced;
  priced.rates = job.book->rates();
  const std::shared_ptr<const Network> layers = layers_of(job, shape);
  priced.network = job.book->network();
  priced.partition = cut_network(job.cut, {*layers, job.network_name}, shape.num_layer_stages(),
                                 [&] { return times_of_layers(job, *layers, shape); });
  JobCosts costs = costs_of(job, shape, *priced.partition);
  priced.costs = std::move(costs.costs);
  priced.cluster = std::move(costs.pipeline);
  if (!shape.vocabulary) {
    priced.costs.part = parts_in_proportion(priced.network, *priced.partition, microbatch_of(job), priced.costs.memory);
  }
  priced.stands_on = rates_text(*priced.rates) + unknown_format_text(*priced.rates, job.parallelism.format);
  return priced;
}

}  // namespace

std::vector<std::int32_t> places_of_stages(const PricingShape& shape, const std::vector<std::int32_t>& degrees) {
  if (shape.holders.empty()) {
    if (shape.num_stages != shape.num_devices) {
      throw Error("--tp-by-rank: the schedule is searched for its costs, expected one stage on each of its devices");
    }
    std::vector<std::int32_t> places(static_cast<std::size_t>(shape.num_stages));
    std::iota(places.begin(), places.end(), 0);
    return places;
  }
  const auto degree = [&](DeviceId device) { return degrees[index(device)]; };
  std::vector<std::int32_t> places;
  for (std::size_t s = 0; s < shape.holders.size(); ++s) {
    const DeviceId first = shape.holders[s].front();
    places.push_back(static_cast<std::int32_t>(first));
    for (const DeviceId device : shape.holders[s]) {
      if (degree(device) == degree(first)) continue;
      throw Error("--tp-by-rank: stage " + std::to_string(s) + " is on devices " + std::to_string(index(first)) +
                  " and " + std::to_string(index(device)) + ", expected the same degree on both");
    }
  }
  return places;
}

PricedPipeline price_job(const AnalyticJob& job, const PricingShape& shape) {
  if (!job.book) throw Error("the job has no network and no cluster, expected a book with both");
  check_shape(job, shape);
  const bool measured = is_profiled(job.network()) && !shape.vocabulary;
  PricedPipeline priced = measured ? price_measured_layers(job, shape) : price_kernels(job, shape);
  priced.description = job.network().name + " on " + job.cluster().name + degrees_text(job.parallelism) + ", layers " +
                       to_string(*priced.partition) + "; " + priced.stands_on;
  return priced;
}

}  // namespace plumb
