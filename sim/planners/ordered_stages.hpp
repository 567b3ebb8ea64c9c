#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "models/graphs/layer_chain.hpp"
#include "sim/planners/plan.hpp"
#include "sim/planners/problem.hpp"

namespace plumb {

/// A stage of layers [begin, end) on `count` consecutive devices from `first` on.
struct DeviceRun {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::int32_t first = 0;
  std::int32_t count = 1;
};

/// Stages one after another, each on a run of consecutive devices from 0 on.
struct OrderedCut {
  double largest = 0;  ///< least possible largest cost
  std::vector<DeviceRun> stages;
};

/// What the stages and the cuts between them cost; the largest is to be least.
struct OrderedCosts {
  std::function<double(const DeviceRun&)> stage;  ///< `kNever`: cannot be
  /// Of the cut in front of layer `layer`, between devices `device` - 1 and `device`.
  std::function<double(std::size_t layer, std::int32_t device)> link;
  std::int32_t most_devices = 1;  ///< of one stage
  StopSign stop = {};
};

/// The best cut of `layers` layers on at most `devices` devices for every number of stages from 1 to `most_stages`, by
/// dynamic programming over stages, layers and devices; no stages where there is no cut.
std::vector<OrderedCut> cuts_by_stages(std::size_t layers, std::int32_t devices, std::size_t most_stages,
                                       const OrderedCosts& costs);

/// The best cut with any number of stages; no stages where there is none.
OrderedCut best_cut(std::size_t layers, std::int32_t devices, const OrderedCosts& costs);

/// Rate of the link between neighbouring devices `device` - 1 and `device`: that of the innermost level which holds
/// both.
double bytes_per_s_before(const PlanProblem& problem, std::int32_t device);

/// The slowest such link inside a run; infinite for one device.
double bytes_per_s_inside(const PlanProblem& problem, const DeviceRun& run);

/// Of the slowest device of a run.
double speed_of(const PlanProblem& problem, const DeviceRun& run);

/// Weights and gradients of a stage, and the activations of `in_flight` microbatches shared by its devices, fit.
bool fits_run(const PlanProblem& problem, const LayerChain& chain, const DeviceRun& run, std::int64_t in_flight);

/// `cut` as the stages of a plan, on the devices that it names.
std::vector<PlanStage> plan_stages(const LayerChain& chain, const OrderedCut& cut, const OrderedCosts& costs);

}  // namespace plumb
