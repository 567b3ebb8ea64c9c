#include "tools/advice/run_predictor.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "models/stages/network_costs.hpp"
#include "sim/simulate.hpp"

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
  documents_.run_profile = profile;
  arguments_.profile = profile.machine;  // costs are given
  simulation_.runtime = runtime;
}

std::vector<StageMemory> RunPredictor::memory_of(std::int32_t num_stages) const {
  const Network& network = *options_.network;
  const Partition cut = load_partition("equal", {network, network.name}, num_stages, {});
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
  SearchGoal goal = search_goal(arguments_, documents_, num_devices);
  if (!options_.memory_limit) return goal;
  goal.memory_limit = *options_.memory_limit;
  goal.costs = [this, num_devices, timed = std::move(goal.costs)](std::int32_t num_stages) {
    StageCosts costs = timed(num_stages);
    add_memory(costs, num_devices);
    return costs;
  };
  return goal;
}

std::optional<std::vector<std::int64_t>> RunPredictor::reduction_ns(std::int32_t num_stages,
                                                                    std::int32_t replicas) const {
  const RunProfile& profile = *documents_.run_profile;
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
  CostInput input = cost_input(arguments_, documents_, schedule);
  simulation_.adapt(schedule, input);
  if (options_.network) input.costs.memory = memory_of(schedule.num_stages);
  if (replicas > 1) {
    const auto reductions = reduction_ns(schedule.num_stages, replicas);
    for (std::size_t s = 0; reductions && s < input.costs.times.size(); ++s) input.costs.times[s].u = (*reductions)[s];
  }
  SimOptions options = simulation_.simulation(schedule);
  options.spans = options.memory_curve = spans;
  const LowerOptions lowering = simulation_.lowering(schedule);
  if (!spans) return simulate_summary(schedule, input.costs, input.cluster_pointer(), lowering, options);
  Timeline timeline = simulate(lower(schedule, input.costs, input.cluster_pointer(), lowering), options);
  timeline.schedule = schedule.name;
  timeline.machine = input.description;
  return timeline;
}

}  // namespace plumb
