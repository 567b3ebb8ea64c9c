#include "tools/ask/simulated_layouts.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/ground/error.hpp"
#include "models/jobs/job_costs.hpp"
#include "models/stages/network_costs.hpp"
#include "models/stages/whole_layers.hpp"
#include "sim/prediction/predict.hpp"
#include "tools/options/memory_limit_argument.hpp"
#include "tools/tables/job_fit.hpp"

namespace plumb {
namespace {

/// The cut that is balanced with what frozen layers take in the first stage.
LayerCut cut_behind(Ticks frozen_forward, const AnalyticJob& job, std::int32_t stages) {
  std::vector<std::int64_t> times = *job.book->layer_times(job.parallelism);
  times.front() += frozen_forward;
  return cut_as(balanced_partition(times, stages));
}

}  // namespace

SimulatedLayouts::SimulatedLayouts(LaidOutJob job) : job_(std::move(job)) {
  if (!job_.costs.has_network()) {
    throw Error("campaign: " + job_.schedule +
                ": steps of pipelines of other lengths follow from a network only; expected --network NAME, or "
                "--layouts instead of a schedule");
  }
  source_ = load_costs(job_.costs);
  if (source_.job() == nullptr) {
    throw Error("campaign: --profile: has times of one layout; expected --network NAME with --cluster NAME");
  }
  check_nodes();
  const auto layers = static_cast<std::int32_t>(source_.job()->network().layers.size());
  lengths_ = job_.lengths;
  for (std::int32_t length = 1; job_.lengths.empty() && length <= std::min(layers, job_.most_nodes); ++length) {
    lengths_.push_back(length);
  }
  std::ranges::sort(lengths_);
}

void SimulatedLayouts::check_nodes() const {
  const std::int64_t each = job_.costs.job.degrees.devices_per_stage();
  const auto devices = std::ssize(source_.job()->cluster().devices);
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

std::int32_t SimulatedLayouts::layers() const {
  return static_cast<std::int32_t>(decoder_count(source_.job()->network()));
}

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
  CostSource active = source_;
  AnalyticJob& job = *active.job();
  job.book = active_book(layers.frozen);
  // A cut that counts the layers of the whole network says nothing of fewer.
  if (job.cut.kind == LayerCut::Kind::kGiven) job.cut = {};
  const FrozenWork frozen = layers.cached ? FrozenWork{} : frozen_work(layout, job.network());
  return simulated(layout, microbatches_of(layout), std::move(active), frozen);
}

std::shared_ptr<JobPriceBook> SimulatedLayouts::active_book(std::int32_t frozen) {
  std::shared_ptr<JobPriceBook>& known = active_books_[frozen];
  if (!known) {
    const JobPriceBook& whole = *source_.job()->book;
    known = std::make_shared<JobPriceBook>(
        std::make_shared<const Network>(without_first_decoders(*whole.network(), static_cast<std::size_t>(frozen))),
        whole.cluster(), whole.rates());
  }
  return known;
}

SimulatedLayouts::FrozenWork SimulatedLayouts::frozen_work(JobLayout layout, const Network& active) const {
  CostSource all = source_;
  AnalyticJob& job = *all.job();
  job.parallelism.data = layout.pipelines;
  job.cut = {};
  const Network& network = job.network();
  ScheduleArguments size;
  size.devices = size.microbatches = 1;
  const PricedPipeline whole = price(all, load_schedule("1f1b", size, {}));
  FrozenWork frozen;
  const std::size_t first = whole_layers(network)[1];
  const std::size_t count = network.layers.size() - active.layers.size();
  for (std::size_t layer = first; layer < first + count; ++layer) frozen.forward += whole.costs.layer_forward[layer];
  const std::int64_t parameters = parameter_count(network) - parameter_count(active);
  frozen.weight_bytes =
      parameters * job.parallelism.precision.weight_bytes / std::max<std::int64_t>(1, job.parallelism.tensor);
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
  return simulated(layout, microbatches, source_, {});
}

std::optional<StepOfLayout> SimulatedLayouts::simulated(JobLayout layout, std::int64_t microbatches, CostSource source,
                                                        const FrozenWork& frozen) {
  ScheduleArguments size = job_.size;
  size.devices = layout.stages;
  size.microbatches = microbatches;
  AnalyticJob& job = *source.job();
  job.parallelism.data = layout.pipelines;
  try {
    Schedule schedule = load_schedule(job_.schedule, size, search_goal(job_.costs, source, layout.stages));
    if (frozen.forward > 0 && job.cut.kind == LayerCut::Kind::kBalanced) {
      job.cut = cut_behind(frozen.forward, job, schedule.num_stages);
    }
    PricedPipeline priced = price(source, schedule);
    priced.costs.times.front().f += frozen.forward;
    StageMemory& held = priced.costs.memory.front();
    held.weight_bytes += frozen.weight_bytes;
    held.frozen_bytes += frozen.weight_bytes;
    const PreparedRun run = prepare_run(std::move(schedule), std::move(priced), source, job_.rules);
    const MemoryLimit limit = parse_memory_limit(job_.costs.memory_limit, run.costs());
    SimOptions options = run.rules.simulation(run.schedule);
    options.spans = options.memory_curve = false;
    const Timeline timeline = predict(run, limit, options);
    const std::vector<std::string> findings = memory_findings(timeline, limit);
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
