#pragma once

#include "sim/planners/antichain_states.hpp"
#include "sim/planners/plan.hpp"
#include "sim/planners/problem.hpp"

namespace plumb {

/// Options of PipeDream's released program.
struct ProgramOptions {
  double memory_bytes = 0;  ///< 0: no limit
  double compression = 0;   ///< of transfers; 0: they are free
  bool straight = false;    ///< no replication
  bool fewer = false;       ///< may leave machines unused
  StopSign stop{};
};

/// So many machines fit the bits of a word.
inline constexpr std::int32_t kMostFlatMachines = 63;

/// The optimum of the released program's formula on one level of machines, without its dynamic program over pairs of
/// states. A stage on q machines from just after state k to state j takes at most T when
///
///     C_j + a_q P_j - T q <= C_k + a_q P_k,      a_q = 4 (q - 1) / (B q)
///
/// so of all k in front of j only the largest right side counts, and that is passed on from state to state: O(steps
/// q^2) for a yes or no. The least T with a yes is found by halving, then exactly: a plan's own cost is the next T to
/// beat.
Plan plan_flat_program(const PlanProblem& problem, const AntichainStates& states, const ProgramOptions& options);

}  // namespace plumb
