#include "tools/studies/pipemare/simulated_models.hpp"

#include <algorithm>

#include "models/sources/abstract_costs.hpp"
#include "schedules/catalogue/registry.hpp"
#include "sim/simulate.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kBytesPerParameter = 4;

Schedule schedule_of(const ModelCase& of) {
  return generate(of.schedule, {.num_devices = of.stages, .num_microbatches = of.microbatches, .options = of.options});
}

StageCosts unit_costs(const Schedule& schedule) {
  return abstract_costs("F=1,B=1", "", {.num_stages = schedule.num_stages, .stages_together = 1});
}

}  // namespace

double simulated_utilization(const ModelCase& of) {
  const Schedule schedule = schedule_of(of);
  return simulate_summary(schedule, unit_costs(schedule)).utilization;
}

std::int64_t simulated_weight_memory(const ModelCase& of, const std::vector<std::int64_t>& parameters,
                                     std::int64_t copies) {
  const Schedule schedule = schedule_of(of);
  StageCosts costs = unit_costs(schedule);
  costs.memory.clear();
  costs.memory_units_per_one = 0;
  for (const std::int64_t count : parameters) {
    StageMemory memory;
    memory.weight_bytes = memory.gradient_bytes = kBytesPerParameter * count;
    memory.optimizer_bytes = (copies - 2) * kBytesPerParameter * count;
    costs.memory.push_back(memory);
  }
  std::int64_t bytes = 0;
  for (const DeviceSummary& device : simulate_summary(schedule, costs).devices) bytes += device.peak_memory_bytes;
  return bytes;
}

double simulated_most_activations(const ModelCase& of) {
  const Schedule schedule = schedule_of(of);
  double most = 0;
  for (const DeviceSummary& device : simulate_summary(schedule, unit_costs(schedule)).devices) {
    most = std::max(most, static_cast<double>(device.peak_activations));
  }
  return most;
}

double simulated_activations(const ModelCase& of) {
  const Schedule schedule = schedule_of(of);
  double sum = 0;
  for (const DeviceSummary& device : simulate_summary(schedule, unit_costs(schedule)).devices) {
    sum += device.peak_activations;
  }
  return sum;
}

}  // namespace plumb
