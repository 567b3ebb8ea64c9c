#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>

#include "models/cluster/cluster.hpp"
#include "models/costs/stage_costs.hpp"
#include "schedules/document/schedule.hpp"
#include "schedules/lowering/lower_options.hpp"
#include "sim/rules/sim_options.hpp"

namespace plumb::testing {

/// A schedule with everything that a simulation of it depends on.
struct SpecificationCase {
  Schedule schedule;
  StageCosts costs;
  std::optional<Cluster> cluster;
  LowerOptions lowering;
  SimOptions options;
};

/// A random valid document of up to four devices: chains and branching stages, replicated stages, replicas, slices,
/// unequal microbatches, fused and split backwards, recompute, pairs, updates and reductions with and without actions
/// of their own. `together`: with stages that start together. Nothing where the draw is not valid.
std::optional<Schedule> random_document(std::mt19937_64& random, bool together = false);

/// Random times, memory, links and options for a schedule.
SpecificationCase random_case(Schedule schedule, std::mt19937_64& random);

/// A case, and what the program says about it.
struct AnsweredCase {
  std::string json;  ///< one line, as tests/sim/specification/second_simulator.py reads it
  bool hangs = false;
};

/// Nothing where the program refuses the case.
std::optional<AnsweredCase> answered_case(const SpecificationCase& one);

}  // namespace plumb::testing
