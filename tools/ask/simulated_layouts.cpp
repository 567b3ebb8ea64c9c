#include "tools/ask/simulated_layouts.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/ground/error.hpp"
#include "models/jobs/job_costs.hpp"
#include "models/stages/network_costs.hpp"
#include "models/stages/whole_layers.hpp"
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

/// The cut that is balanced with what frozen layers take in the first stage: "3,4,5".
std::string cut_behind(Ticks frozen_forward, const CostArguments& costs, const CostDocuments& active,
                       std::int32_t stages) {
  Parallelism job =
      costs.job.parallelism(precision_of(costs.precision, costs.cluster), matrix_format_of(costs.precision));
  if (job.microbatch_size == 0) job.microbatch_size = costs.samples.value_or(0);
  job.sequence = costs.sequence.value_or(0);
  const Cluster& cluster = *active.cluster;
  const JobMachine machine{cluster, stages, costs.job.rates_of(cluster.devices.front())};
  std::vector<std::int64_t> times = job_layer_times(*active.network, machine, job);
  times.front() += frozen_forward;
  return to_string(balanced_partition(times, stages));
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

std::int64_t SimulatedLayouts::microbatches_of(JobLayout layout) const {
  return (job_.microbatches + layout.pipelines - 1) / layout.pipelines;
}

std::optional<StepOfLayout> SimulatedLayouts::step(JobLayout layout) {
  return simulated(layout, microbatches_of(layout));
}

std::int32_t SimulatedLayouts::layers() const { return static_cast<std::int32_t>(decoder_count(*documents_.network)); }

LayoutSource* SimulatedLayouts::redundant() {
  constexpr std::string_view kBamboo = "bamboo";
  if (job_.schedule == kBamboo) return nullptr;
  if (!redundant_) {
    LaidOutJob job = job_;
    job.schedule = kBamboo;
    job.size = {};
    job.size.options = {"wrap=yes"};
    job.lengths = lengths_;
    if (lengths_.back() > 1) std::erase(job.lengths, 1);  // a node alone has nobody to stand in for it
    redundant_ = std::make_unique<SimulatedLayouts>(std::move(job));
  }
  return redundant_.get();
}

std::optional<StepOfLayout> SimulatedLayouts::frozen_step(JobLayout layout, const FrozenLayers& layers) {
  if (layers.frozen == 0) return step(layout);
  if (this->layers() == 0) return LayoutSource::frozen_step(layout, layers);
  CostDocuments active = documents_;
  active.network = without_first_decoders(*documents_.network, static_cast<std::size_t>(layers.frozen));
  CostArguments costs = job_.costs;
  // A cut that counts the layers of the whole network says nothing of fewer.
  if (costs.partition.find_first_of("0123456789") != std::string::npos) costs.partition.clear();
  const FrozenWork frozen = layers.cached ? FrozenWork{} : frozen_work(layout, *active.network);
  return simulated(layout, microbatches_of(layout), active, costs, frozen);
}

SimulatedLayouts::FrozenWork SimulatedLayouts::frozen_work(JobLayout layout, const Network& active) const {
  const Network& network = *documents_.network;
  CostArguments costs = job_.costs;
  costs.job.degrees.data = layout.pipelines;
  costs.partition.clear();
  ScheduleArguments size;
  size.devices = size.microbatches = 1;
  const CostInput whole = cost_input(costs, documents_, load_schedule("1f1b", size, {}));
  FrozenWork frozen;
  const std::size_t first = whole_layers(network)[1];
  const std::size_t count = network.layers.size() - active.layers.size();
  for (std::size_t layer = first; layer < first + count; ++layer) frozen.forward += whole.costs.layer_forward[layer];
  const std::int64_t parameters = parameter_count(network) - parameter_count(active);
  frozen.weight_bytes = parameters * precision_of(costs.precision, costs.cluster).weight_bytes /
                        std::max<std::int64_t>(1, costs.job.degrees.tensor.value_or(1));
  return frozen;
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
  return simulated(layout, microbatches, documents_, job_.costs, {});
}

std::optional<StepOfLayout> SimulatedLayouts::simulated(JobLayout layout, std::int64_t microbatches,
                                                        const CostDocuments& active, const CostArguments& arguments,
                                                        const FrozenWork& frozen) {
  ScheduleArguments size = job_.size;
  size.devices = layout.stages;
  size.microbatches = microbatches;
  CostArguments costs = arguments;
  costs.job.degrees.data = layout.pipelines;
  try {
    Schedule schedule = load_schedule(job_.schedule, size, search_goal(costs, active, layout.stages));
    if (frozen.forward > 0 && is_balanced(costs.partition)) {
      costs.partition = cut_behind(frozen.forward, costs, active, schedule.num_stages);
    }
    CostInput input = cost_input(costs, active, schedule);
    input.costs.times.front().f += frozen.forward;
    input.costs.memory.front().weight_bytes += frozen.weight_bytes;
    input.costs.memory.front().frozen_bytes += frozen.weight_bytes;
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
