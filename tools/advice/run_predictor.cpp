#include "tools/advice/run_predictor.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "models/stages/network_costs.hpp"
#include "sim/prediction/predict.hpp"

namespace plumb {
namespace {

void take_tenth(Measured& measured, bool high) {
  if (measured.count == 0) return;
  measured.median_ns = measured.mean_ns = high ? measured.p90_ns : measured.p10_ns;
}

void take_tenths(MeasuredPasses& passes, bool high) {
  for (Measured* pass : {&passes.f, &passes.b, &passes.i, &passes.w}) take_tenth(*pass, high);
}

}  // namespace

RunProfile profile_with_tenth(RunProfile profile, UnsureCost cost, bool high) {
  switch (cost) {
    case UnsureCost::kMessages:
      for (MeasuredMessages& size : profile.messages) {
        for (Measured* call : {&size.send, &size.send_posted, &size.receive, &size.message}) take_tenth(*call, high);
      }
      break;
    case UnsureCost::kHost:
      take_tenths(profile.host, high);
      break;
    case UnsureCost::kInside:
      take_tenths(profile.inside, high);
      break;
  }
  return profile;
}

RunPredictor::RunPredictor(const RunProfile& profile, std::string_view runtime, const AdviceOptions& options)
    : options_(options) {
  source_.kind = profile;
  arguments_.profile = profile.machine;  // costs are given
  rules_.runtime = runtime;
}

std::vector<StageMemory> RunPredictor::memory_of(std::int32_t num_stages) const {
  const Network& network = *options_.network;
  const Partition cut = cut_network({.kind = LayerCut::Kind::kEqual}, {network, network.name}, num_stages, {});
  return untimed_costs(network, cut, {network.samples, network.sequence}, kMixedPrecision).memory;
}

void RunPredictor::add_memory(StageCosts& costs, std::int32_t num_devices) const {
  const auto num_stages = static_cast<std::int32_t>(costs.times.size());
  if (options_.network) {
    costs.memory = memory_of(num_stages);
    return;
  }
  StageMemory memory;
  memory.stash.push_back({"stash", 1, StashTensor::MadeBy::kForward, LastUse::kWeightGrad});
  costs.memory.assign(costs.times.size(), memory);
  costs.memory_units_per_one = std::max(1, num_stages / num_devices);
}

SearchGoal RunPredictor::goal(std::int32_t num_devices) const {
  SearchGoal goal = search_goal(arguments_, source_, num_devices);
  if (!options_.memory_limit) return goal;
  goal.memory_limit = *options_.memory_limit;
  if (options_.network) {
    const auto bytes = static_cast<std::int64_t>(std::llround(*options_.memory_limit));
    goal.memory_limit = static_cast<double>(largest_peak(bytes, KernelRates{}, FitMargin::kNone));
  }
  goal.costs = [this, num_devices, timed = std::move(goal.costs)](std::int32_t num_stages) {
    StageCosts costs = timed(num_stages);
    add_memory(costs, num_devices);
    return costs;
  };
  return goal;
}

MemoryLimit RunPredictor::memory_limit(const Schedule& schedule) const {
  return {.in_bytes = options_.network.has_value(),
          .value = options_.memory_limit,
          .stash_share = static_cast<double>(schedule.num_devices) / schedule.num_stages};
}

std::optional<std::vector<std::int64_t>> RunPredictor::reduction_ns(std::int32_t num_stages,
                                                                    std::int32_t replicas) const {
  const RunProfile& profile = *source_.run();
  const std::int64_t message_ns = message_times(profile.messages, profile.message_bytes).message_ns;
  if (!options_.network || message_ns == 0) return std::nullopt;
  std::int64_t message_bytes = 0;
  for (const StageMemory& stage : memory_of(static_cast<std::int32_t>(profile.stages.size()))) {
    message_bytes = std::max({message_bytes, stage.output_bytes, stage.input_grad_bytes});
  }
  if (message_bytes == 0) return std::nullopt;
  const double ns_per_byte = static_cast<double>(message_ns) / static_cast<double>(message_bytes);
  const double passes = 2.0 * (replicas - 1) / replicas;
  std::vector<std::int64_t> times;
  for (const StageMemory& stage : memory_of(num_stages)) {
    times.push_back(std::llround(passes * static_cast<double>(stage.gradient_bytes) * ns_per_byte));
  }
  return times;
}

Timeline RunPredictor::predict(Schedule schedule, std::int32_t replicas, bool spans) const {
  PricedPipeline priced = price(source_, schedule);
  PreparedRun run = prepare_run(std::move(schedule), std::move(priced), source_, rules_);
  StageCosts& costs = run.priced.costs;
  const MemoryLimit limit = memory_limit(run.schedule);
  if (limit.in_bytes) {
    costs.memory = memory_of(run.schedule.num_stages);
    run.priced.rates = KernelRates{};
  }
  if (replicas > 1) {
    const auto reductions = reduction_ns(run.schedule.num_stages, replicas);
    for (std::size_t s = 0; reductions && s < costs.times.size(); ++s) costs.times[s].u = (*reductions)[s];
  }
  SimOptions options = run.rules.simulation(run.schedule);
  options.spans = options.memory_curve = spans;
  return plumb::predict(run, limit, options);
}

}  // namespace plumb
