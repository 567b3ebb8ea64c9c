#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/jobs/parallelism.hpp"
#include "models/pricing/cost_source.hpp"
#include "schedules/document/schedule.hpp"
#include "sim/prediction/memory_fit.hpp"
#include "sim/runtimes/run_rules.hpp"
#include "sim/timeline/timeline.hpp"
#include "tools/options/schedule_arguments.hpp"

namespace plumb {

/// A simulated job that does not fit.
struct TightJob {
  const std::string& schedule;  ///< NAME or FILE
  const ScheduleArguments& size;
  const CostSource& source;  ///< an `AnalyticJob`
  const MemoryLimit& limit;
  const RunRules& rules;
};

/// A change to the options of a job, and what it does. The batch of an update stays as it is.
struct MemoryRelief {
  std::string change;            ///< options: "--recompute selective", "--microbatch-size 1 -m 64"
  std::int64_t saved_bytes = 0;  ///< of the fullest device
  double longer = 0;             ///< share by which the step takes longer; below 0: it is shorter
  bool fits = false;
  bool more_devices = false;  ///< the change needs twice as many devices
  Parallelism parallelism{};  ///< of the job with the change
};

/// The single changes that save at least 1 % of what the fullest device needs: stronger recomputation, a higher ZeRO
/// stage, sequence parallelism, half the microbatch, the double tensor degree where the cluster has the devices. Each
/// is simulated. Those that make the job fit come first, by the time that they cost; then the others, by what they
/// save. Several together are among them where that makes the job fit: those that cost the least time, and those that
/// save most. `schedule` and `timeline` are those of the job as it is, with their needs noted (`fill_memory`).
std::vector<MemoryRelief> memory_reliefs(const TightJob& job, const Schedule& schedule, const Timeline& timeline);

/// A table of the first four, headed "what would help"; empty where nothing does.
std::string relief_text(const std::vector<MemoryRelief>& reliefs);

}  // namespace plumb
