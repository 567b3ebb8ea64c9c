#include "models/pricing/price.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "models/costs/longest_edge.hpp"
#include "models/ground/error.hpp"
#include "models/pricing/cluster_size.hpp"
#include "models/pricing/price_job.hpp"
#include "models/sources/abstract_costs.hpp"

namespace plumb {
namespace {

/// What follows "KEY=" in a list of costs; nothing where the key is not there.
std::optional<std::string_view> given_cost(std::string_view list, std::string_view key) {
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string_view item = list.substr(begin, end - begin);
    if (item.size() > key.size() && item.starts_with(key) && item[key.size()] == '=')
      return item.substr(key.size() + 1);
    begin = end + 1;
  }
  return std::nullopt;
}

/// ",I=1,W=1" for "F=1": a backward that nobody gave takes as long as two forwards. Empty where one is given or needed
/// by nobody.
std::string missing_backward(const std::string& times, const PricingShape& shape) {
  const auto forward = given_cost(times, "F");
  if (shape.forward_only || !forward) return {};
  for (const std::string_view key : {"B", "I", "W"}) {
    if (given_cost(times, key)) return {};
  }
  return ",I=" + std::string(*forward) + ",W=" + std::string(*forward);
}

PricedPipeline price_units(const AbstractUnits& units, const PricingShape& shape) {
  PricedPipeline priced;
  const std::string backward = missing_backward(units.times, shape);
  const std::int32_t stages = shape.num_model_stages();
  if (!backward.empty()) priced.stands_on = "no backward was given: it takes as long as two forwards (I=F, W=F)";
  priced.costs = abstract_costs(units.times + backward, units.memory,
                                {.num_stages = shape.num_stages,
                                 .stages_together = units.per_stage ? 1 : stages,
                                 .shares_together = units.per_stage ? 1 : shape.num_devices,
                                 .recompute = shape.recompute,
                                 .vocabulary = shape.vocabulary,
                                 .shares = shape.shares});
  priced.description = units.times;
  if (stages != shape.num_devices) priced.description += units.per_stage ? " per stage" : " per device";
  priced.description += (backward.empty() ? "" : "; " + priced.stands_on);
  if (units.assumed) priced.description += ", assumed (I=1,W=1 where B is split); --cost or --network gives others";
  return priced;
}

/// Measured stages hold layers.
void refuse_vocabulary(const PricingShape& shape) {
  if (!shape.vocabulary) return;
  throw Error("--profile: has no times of a divided vocabulary, expected --network with --cluster, or --cost");
}

Partition cut_of_profile(const StageProfile& source, std::int32_t num_stages) {
  const Profile& profile = source.profile;
  const Network& network = *source.network;
  const Partition profiled = profiled_partition(profile);
  if (!source.cut && profiled.num_stages() == static_cast<std::size_t>(num_stages)) return profiled;
  const bool timed = profile.layers.size() == network.layers.size();
  if (!timed && source.cut && source.cut->kind == LayerCut::Kind::kBalanced) {
    throw Error("--partition: balanced needs a profile with the times of single layers, expected equal");
  }
  const LayerCut cut =
      source.cut ? *source.cut : LayerCut{.kind = timed ? LayerCut::Kind::kBalanced : LayerCut::Kind::kEqual};
  return cut_network(cut, {network, source.network_name}, num_stages, [&profile] {
    std::vector<std::int64_t> times;
    for (const ProfiledTimes& layer : profile.layers) {
      const std::int64_t backward =
          layer.b.count > 0 ? layer.b.expected_ns() : layer.i.expected_ns() + layer.w.expected_ns();
      times.push_back(layer.f.expected_ns() + backward);
    }
    return times;
  });
}

PricedPipeline price_profile(const StageProfile& source, const PricingShape& shape) {
  refuse_vocabulary(shape);
  const Profile& profile = source.profile;
  PricedPipeline priced;
  priced.network = source.network;
  priced.partition = cut_of_profile(source, shape.num_stages);
  priced.costs = profile_costs(profile, *source.network, *priced.partition, shape.in_flight);
  if (source.cluster) {
    check_cluster_size(*source.cluster, shape.num_devices, source.cluster->name, "the pipeline");
    estimate_host_copies(priced.costs, *source.cluster);
    priced.cluster = *source.cluster;
  } else {
    priced.cluster = profile_cluster(profile, shape.num_devices, largest_message(priced.costs));
  }
  priced.description = profile.network + " as measured on " + profile.machine;
  if (*priced.partition != profiled_partition(profile)) {
    priced.description += ", layers " + to_string(*priced.partition);
  }
  return priced;
}

PricedPipeline price_run(const RunProfile& profile, const PricingShape& shape) {
  refuse_vocabulary(shape);
  RunCosts run = run_profile_costs(profile, shape.num_stages);
  PricedPipeline priced;
  priced.costs = std::move(run.costs);
  priced.cluster = run_profile_cluster(profile, shape.num_devices);
  priced.description = "as " + profile.machine;
  for (const std::string& note : run.notes) priced.description += "; " + note;
  return priced;
}

/// Jitter needs devices; where no cluster is known they are plain ones without links.
void apply_jitter(PricedPipeline& priced, double jitter, std::int32_t num_devices) {
  if (!priced.cluster) {
    priced.cluster.emplace();
    priced.cluster->devices.resize(static_cast<std::size_t>(num_devices));
    priced.cluster->devices_per_node = num_devices;
    priced.cluster->finish();
  }
  for (DeviceSpec& device : priced.cluster->devices) device.jitter = jitter;
}

}  // namespace

PricedPipeline price(const CostSource& source, const PricingShape& shape) {
  struct Pricing {
    const PricingShape& shape;

    PricedPipeline operator()(const AbstractUnits& units) const { return price_units(units, shape); }
    PricedPipeline operator()(const AnalyticJob& job) const { return price_job(job, shape); }
    PricedPipeline operator()(const StageProfile& profile) const { return price_profile(profile, shape); }
    PricedPipeline operator()(const RunProfile& profile) const { return price_run(profile, shape); }
  };
  PricedPipeline priced = std::visit(Pricing{shape}, source.kind);
  if (source.jitter) apply_jitter(priced, *source.jitter, shape.num_devices);
  return priced;
}

std::function<StageCosts(std::int32_t num_stages)> costs_for_search(const CostSource& source,
                                                                    std::int32_t num_devices) {
  return [source, num_devices](std::int32_t num_stages) {
    PricedPipeline priced = price(source, {.num_devices = num_devices, .num_stages = num_stages});
    if (!priced.costs.comm && priced.cluster) {
      priced.costs.comm = longest_edge(priced.costs, *priced.cluster, num_devices);
    }
    return std::move(priced.costs);
  };
}

}  // namespace plumb
