#include "tools/ask/simulated_layouts.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/ground/error.hpp"
#include "sim/simulate.hpp"
#include "tools/options/memory_limit_argument.hpp"
#include "tools/tables/job_fit.hpp"

namespace plumb {
namespace {

std::vector<std::string> layout_findings(Timeline& timeline, const CostInput& input, const CostArguments& costs) {
  const MemoryLimit limit = parse_memory_limit(costs.memory_limit, input.costs);
  if (!input.job_rates) return memory_findings(timeline, limit, input.cluster_pointer());
  fill_needs(timeline, *input.job_rates, *input.cluster, limit);
  return fit_findings(timeline);
}

}  // namespace

SimulatedLayouts::SimulatedLayouts(LaidOutJob job) : job_(std::move(job)) {
  if (!job_.costs.has_network()) {
    throw Error("campaign: " + job_.schedule +
                ": steps of pipelines of other lengths follow from a network only; expected --network NAME, or "
                "--layouts instead of a schedule");
  }
  documents_ = load_cost_documents(job_.costs);
  check_nodes();
  const auto layers = static_cast<std::int32_t>(documents_.network->layers.size());
  lengths_ = job_.lengths;
  for (std::int32_t length = 1; job_.lengths.empty() && length <= std::min(layers, job_.most_nodes); ++length) {
    lengths_.push_back(length);
  }
  std::ranges::sort(lengths_);
}

void SimulatedLayouts::check_nodes() const {
  if (!documents_.cluster) return;
  const std::int64_t each = job_.costs.job.degrees.devices_per_stage();
  const auto devices = std::ssize(documents_.cluster->devices);
  if (each * job_.most_nodes <= devices) return;
  throw Error("campaign: there are up to " + std::to_string(job_.most_nodes) + " nodes" +
              (each > 1 ? " of " + std::to_string(each) + " devices" : "") + ", and the cluster '" +
              job_.costs.cluster + "' has " + std::to_string(devices) +
              " devices; expected a cluster that has them all");
}

std::int32_t SimulatedLayouts::most_pipelines(std::int32_t stages) const {
  return static_cast<std::int32_t>(std::min<std::int64_t>(job_.most_nodes / stages, job_.microbatches));
}

std::optional<StepOfLayout> SimulatedLayouts::step(JobLayout layout) {
  return simulated(layout, (job_.microbatches + layout.pipelines - 1) / layout.pipelines);
}

std::optional<std::int64_t> SimulatedLayouts::share_ns(JobLayout layout, double share) {
  const auto microbatches = std::llround(share * static_cast<double>(job_.microbatches));
  // Pipelines of several lengths reduce gradients together as so many of this one's length would, where the cluster has
  // room for these.
  for (std::int32_t pipelines = layout.pipelines; pipelines > 0; --pipelines) {
    const auto step = simulated({pipelines, layout.stages}, microbatches);
    if (step) return step->ns;
  }
  return {};
}

std::optional<StepOfLayout> SimulatedLayouts::simulated(JobLayout layout, std::int64_t microbatches) {
  ScheduleArguments size = job_.size;
  size.devices = layout.stages;
  size.microbatches = microbatches;
  CostArguments costs = job_.costs;
  costs.job.degrees.data = layout.pipelines;
  try {
    Schedule schedule = load_schedule(job_.schedule, size, search_goal(costs, documents_, layout.stages));
    CostInput input = cost_input(costs, documents_, schedule);
    job_.simulation.adapt(schedule, input);
    Timeline timeline = simulate_summary(schedule, input.costs, input.cluster_pointer(),
                                         job_.simulation.lowering(schedule), job_.simulation.simulation(schedule));
    const std::vector<std::string> findings = layout_findings(timeline, input, costs);
    if (!findings.empty()) {
      refusal_ = findings.front();
      return {};
    }
    const std::int64_t ns = to_ns(timeline.step_time, timeline.base);
    return StepOfLayout{.ns = ns, .samples = timeline.samples_per_s.value_or(0) * static_cast<double>(ns) / 1e9};
  } catch (const Error& error) {
    // A schedule may not exist in this size, and a network may not have so many stages: another layout may work.
    refusal_ = error.what();
    return {};
  }
}

}  // namespace plumb
