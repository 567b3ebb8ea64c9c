#pragma once

#include <cstdint>
#include <optional>

#include "models/pricing/price.hpp"
#include "schedules/document/schedule.hpp"
#include "schedules/lowering/lower.hpp"
#include "schedules/program/pricing_shape.hpp"
#include "schedules/program/program.hpp"
#include "sim/prediction/memory_fit.hpp"
#include "sim/rules/sim_options.hpp"
#include "sim/runtimes/run_rules.hpp"
#include "sim/timeline/timeline.hpp"

namespace plumb {

/// A schedule as a system runs it, with what its stages cost: ready to be simulated.
struct PreparedRun {
  Schedule schedule{};  ///< with what the system does with its actions
  PricedPipeline priced{};
  RunRules rules{};  ///< with the runtime that was decided
  LowerOptions lowering{};

  const StageCosts& costs() const { return priced.costs; }
  const Cluster* cluster() const { return priced.cluster_pointer(); }
};

/// `schedule` as `rules` run it. Without a runtime in `rules` a traced run's own system runs it (`runtime_after`), and
/// the description of the price says so where that is another system than the traced one. Throws `Error` for unknown
/// systems, and for orders that the system would run wrongly.
PreparedRun prepare_run(Schedule schedule, PricedPipeline priced, const CostSource& source, RunRules rules);

/// When devices decide their orders during the run.
enum class OrderRule : std::uint8_t { kFixed, kReady, kBackwardFirst };

/// The run with the order that its devices decide: by the policy of its document, or by `rule`. With `kFixed` and
/// without a policy it is `run`. `without_contention` says whether the order was decided by times that leave out how
/// actions slow each other down. Throws `Error` for a rule beside a policy.
struct OrderedRun {
  PreparedRun run;
  bool without_contention = false;
};
OrderedRun decide_order(PreparedRun run, OrderRule rule = OrderRule::kFixed);

/// The program of a run. Throws `Error` where it would have more instructions than fit into memory.
Program program_of(const PreparedRun& run, const SimOptions& options = {});

/// The answer to "what would happen": times of devices, the schedule's name, what its times stand on, and the memory
/// that every device needs, held against `limit`. Without spans in `options` it is a summary, which jumps over what
/// repeats. `options`: as of `RunRules::simulation`.
Timeline predict(const PreparedRun& run, const MemoryLimit& limit, const SimOptions& options);
/// Predicts the run from its program, which is there already.
Timeline predict(const PreparedRun& run, const Program& program, const MemoryLimit& limit, const SimOptions& options);

/// A schedule priced by `source`, run by `rules`, in its own order: a summary.
Timeline predict(Schedule schedule, const CostSource& source, const RunRules& rules = {},
                 const MemoryLimit& limit = {});

}  // namespace plumb
