#pragma once

#include <vector>

#include "models/jobs/parallelism.hpp"
#include "sim/plan_search/plan_job.hpp"

namespace plumb {

/// The network as one stage, and every layer alone in a stage.
struct PricedNetwork {
  PricedStages whole{};
  PricedStages layers{};
};

/// A machine whose places differ in nothing but speed and memory, on which no stage takes longer or needs more than on
/// those of a job with unlike tensor degrees.
struct OptimisticMachine {
  PricedNetwork alone{};
  PricedNetwork paired{};  ///< at the least that overlapped pairs leave of passes
  /// By place: what a time there is multiplied by to be compared with those of this machine on a place of its speed,
  /// and the same of bytes.
  std::vector<double> time_scale{};
  std::vector<double> memory_scale{};
};

/// Makes the machine. Throws what pricing throws.
///
/// Write s_p for the speed of place p, R_p for its room, d_p for its degree, and r for the degree whose prices all
/// places get. a_k(d) is any time that layer k takes or adds at least with degree d, b_k(d) any bytes that it needs.
///
/// 1. *Time.* Let t_p be the largest a_k(r) / a_k(d_p). A stage on p takes at least the sum of a_k(d_p) / s_p over its
///    layers, which is at least the sum of a_k(r) / (s_p t_p).
/// 2. *Memory.* Let m_p be the largest b_k(r) / b_k(d_p). A stage on p needs at least the sum of b_k(d_p), which is at
///    least the sum of b_k(r) / m_p. So it fits only if the sum of b_k(r) is at most R_p m_p.
/// 3. *Machine.* Places of speed s_p t_p and room R_p m_p with the prices of r are no slower and no smaller than the
///    real ones. So bounds and balanced cuts hold that know only places of unlike speed and memory.
///
/// Messages are the smallest of all degrees. r is the degree that makes the sum of all s_p t_p smallest.
OptimisticMachine optimistic_machine(const PlanJob& job, const Parallelism& parallelism);

}  // namespace plumb
