#include "sim/plan_search/planner_seeds.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>

#include <tbb/parallel_for.h>

#include "models/ground/error.hpp"
#include "sim/plan_search/cut_units.hpp"
#include "sim/plan_search/placed_schedule.hpp"
#include "sim/plan_search/prices/layer_prices.hpp"
#include "sim/planners/planner.hpp"

namespace plumb {
namespace {

/// Bounds of the stages in the chain; nothing when they are no runs of it, in order.
std::optional<Partition> runs_of(const Plan& plan, const LayerChain& chain) {
  std::vector<std::int64_t> position(static_cast<std::size_t>(*std::max_element(chain.node.begin(), chain.node.end())) +
                                     1);
  for (std::size_t k = 0; k < chain.size(); ++k) {
    position[static_cast<std::size_t>(chain.node[k])] = static_cast<std::int64_t>(k);
  }
  Partition partition{{0}};
  for (const PlanStage& stage : plan.stages) {
    if (stage.on_cpu || stage.tensor_degree != 1 || stage.layers.empty()) return std::nullopt;
    const std::size_t begin = partition.bounds.back();
    const std::size_t end = begin + stage.layers.size();
    for (const std::int32_t layer : stage.layers) {
      const auto at = static_cast<std::size_t>(position[static_cast<std::size_t>(layer)]);
      if (at < begin || at >= end) return std::nullopt;
    }
    partition.bounds.push_back(end);
  }
  if (partition.num_layers() != chain.size()) return std::nullopt;
  return partition;
}

std::vector<std::int32_t> natural_order(std::int32_t places) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(places));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

/// Returns the planner's own devices, where it names them all.
std::optional<std::vector<std::int32_t>> named_devices(const Plan& plan) {
  if (plan.pipelines != 1) return std::nullopt;
  std::vector<std::int32_t> order;
  for (const PlanStage& stage : plan.stages) {
    if (std::ssize(stage.devices) != stage.replicas) return std::nullopt;
    order.insert(order.end(), stage.devices.begin(), stage.devices.end());
  }
  return order;
}

bool has_same_copies(const PipelinePlan& plan) {
  return std::adjacent_find(plan.replicas.begin(), plan.replicas.end(), std::not_equal_to<>()) == plan.replicas.end();
}

bool allows(const std::vector<std::int32_t>& places, std::size_t length) {
  return std::find(places.begin(), places.end(), static_cast<std::int32_t>(length)) != places.end();
}

/// Schedules by which seeds are run, if nothing else was asked for.
bool allows(const PlanRanges& ranges, const PipelinePlan& plan) {
  if (!plan.replicas.empty() && !ranges.replicated) return false;
  if (!plan.shares.empty() && std::ranges::find(ranges.copies, plan.copies()) == ranges.copies.end()) return false;
  if (!allows(ranges.places, plan.partition.num_stages())) return false;
  const auto& names = ranges.schedules;
  return names.empty() || std::find(names.begin(), names.end(), plan.schedule) != names.end();
}

/// Adds plans with the copies of all stages as data ranks, where these are among the choices.
void add_data_ranks(const PlanJob& job, const PlanRanges& ranges, const PipelinePlan& plan,
                    std::vector<PipelinePlan>& plans) {
  for (const Parallelism& choice : ranges.parallelisms) {
    Parallelism alike = choice;
    alike.data = 1;
    alike.zero = ZeroStage::kNone;
    if (choice.data != plan.replicas.front() || alike != plan.parallelism) continue;
    const std::int64_t together = choice.data * choice.microbatch_size;
    if (job.batch % together != 0) continue;
    PipelinePlan spread = plan;
    spread.parallelism = choice;
    spread.microbatches = job.batch / together;
    spread.places = static_cast<std::int32_t>(plan.partition.num_stages());
    spread.schedule = "1f1b";
    spread.replicas.clear();
    spread.order = natural_order(spread.places);
    plans.push_back(std::move(spread));
  }
}

std::vector<PlannerSeed> seeds_of(const PlanJob& job, const PlanRanges& ranges, const Parallelism& parallelism,
                                  const Planner& planner, const std::function<bool()>& stop) {
  std::vector<PlannerSeed> seeds;
  const std::int64_t devices = job.num_devices / parallelism.devices_per_stage();
  if (job.num_layers > planner.asked_up_to.layers || devices > planner.asked_up_to.devices) return seeds;
  try {
    PlanProblem problem = planner_problem(job, parallelism);
    problem.stop.asked = stop;
    if (planner.name == "slicegraph") problem.options["generations"] = "0";  // a chain has one order
    const PipelinePlan base{.parallelism = parallelism, .microbatches = problem.microbatches};
    const Plan answer = make_plan(planner, problem);
    std::vector<PipelinePlan> plans;
    for (PipelinePlan& plan : expressed(answer, chain_of(problem.network.layers), base)) {
      if (!plan.replicas.empty() && has_same_copies(plan)) add_data_ranks(job, ranges, plan, plans);
      plans.push_back(std::move(plan));
    }
    for (PipelinePlan& plan : plans) {
      if (job.in_order && !std::ranges::is_sorted(plan.order)) continue;
      if (allows(ranges, plan)) seeds.push_back({std::string(planner.name), std::move(plan)});
    }
  } catch (const Error&) {  // the job cannot be priced so, or the planner finds no plan
  }
  return seeds;
}

/// Holders of the only stage with shares of their own, as copies of a pipeline of one place; those without any are left
/// out.
std::vector<PipelinePlan> shared(const Plan& plan, PipelinePlan said) {
  for (std::size_t device = 0; device < plan.shares.size(); ++device) {
    if (plan.shares[device] == 0) continue;
    said.order.push_back(static_cast<std::int32_t>(device));
    said.shares.push_back(plan.shares[device]);
  }
  said.places = static_cast<std::int32_t>(said.order.size());
  if (said.shares.size() == 1) said.shares.clear();
  return {std::move(said)};
}

}  // namespace

std::vector<PipelinePlan> expressed(const Plan& plan, const LayerChain& chain, const PipelinePlan& base) {
  const std::optional<Partition> partition = runs_of(plan, chain);
  if (!partition) return {};
  PipelinePlan said = base;
  said.partition = *partition;
  said.schedule = "1f1b";
  if (!plan.shares.empty()) return shared(plan, std::move(said));
  for (const PlanStage& stage : plan.stages) said.replicas.push_back(stage.replicas * plan.pipelines);
  said.places = std::accumulate(said.replicas.begin(), said.replicas.end(), 0);
  const std::optional<std::vector<std::int32_t>> named = named_devices(plan);
  said.order = named ? *named : natural_order(said.places);
  if (std::ssize(plan.stages) == said.places) {
    said.replicas.clear();
    return {std::move(said)};
  }
  said.schedule = "dapple";
  std::vector<PipelinePlan> plans{said};
  if (!named && plan.stages.size() > 1 && has_same_copies(said)) {
    const auto stages = static_cast<std::int32_t>(plan.stages.size());
    const std::int32_t copies = said.replicas.front();
    for (std::int32_t at = 0; at < said.places; ++at) {
      said.order[static_cast<std::size_t>(at)] = at % copies * stages + at / copies;
    }
    plans.push_back(std::move(said));
  }
  return plans;
}

PlanProblem planner_problem(const PlanJob& job, const Parallelism& parallelism) {
  const auto places = static_cast<std::int32_t>(job.num_devices / parallelism.devices_per_stage());
  if (places == 0 || job.batch % parallelism.microbatch_size != 0) throw Error("plan: the job cannot be divided so");
  Partition finest;
  Network names;
  for (std::size_t layer = 0; layer <= job.num_layers; ++layer) finest.bounds.push_back(layer);
  names.layers.resize(job.num_layers);
  PricedStages layers = job.price(parallelism, finest, places, {});
  for (StageTimes& times : layers.costs.times) times.b = least_backward(times);
  PlanProblem problem;
  problem.network.layers = graph_of(names, layers.costs);
  problem.levels = levels_of(layers.pipeline);
  for (const DeviceSpec& device : layers.pipeline.devices) problem.speed.push_back(device.speed);
  if (std::all_of(problem.speed.begin(), problem.speed.end(), [](double speed) { return speed == 1; })) {
    problem.speed.clear();
  }
  if (!layers.usable_bytes.empty()) {
    problem.memory_bytes = *std::min_element(layers.usable_bytes.begin(), layers.usable_bytes.end());
    const bool unlike = std::ranges::max(layers.usable_bytes) != problem.memory_bytes;
    if (unlike) problem.memory_by_device = layers.usable_bytes;
  }
  problem.microbatches = job.batch / parallelism.microbatch_size;
  return problem;
}

std::vector<PlannerSeed> planner_seeds(const PlanJob& of_layers, const PlanRanges& ranges,
                                       const std::function<bool()>& stop) {
  if (of_layers.only_cut) return {};
  const PlanJob job = job_of_units(of_layers);
  std::vector<std::pair<const Parallelism*, const Planner*>> asked;
  for (const Parallelism& parallelism : ranges.parallelisms) {
    if (parallelism.data != 1 || parallelism.has_unlike_tensor()) continue;
    for (const Planner& planner : planners()) {
      if (ranges.planners && std::ranges::find(*ranges.planners, planner.name) == ranges.planners->end()) continue;
      asked.emplace_back(&parallelism, &planner);
    }
  }
  std::vector<std::vector<PlannerSeed>> answers(asked.size());
  tbb::parallel_for(std::size_t{0}, asked.size(), [&](std::size_t at) {
    if (!stop || !stop()) answers[at] = seeds_of(job, ranges, *asked[at].first, *asked[at].second, stop);
  });
  std::vector<PlannerSeed> seeds;
  for (std::vector<PlannerSeed>& some : answers) {
    std::move(some.begin(), some.end(), std::back_inserter(seeds));
  }
  for (PlannerSeed& seed : seeds) seed.plan.partition = in_layers(seed.plan.partition, of_layers.units);
  return seeds;
}

std::map<std::string, std::int64_t> planner_steps(const std::vector<PlannerSeed>& seeds, const StagePricing& price) {
  std::vector<std::int64_t> step_ns(seeds.size());
  tbb::parallel_for(std::size_t{0}, seeds.size(), [&](std::size_t at) {
    try {
      const ScoredPlan score = simulate_plan(seeds[at].plan, price).score;
      if (score.fits()) step_ns[at] = score.step_ns;
    } catch (const Error&) {  // cannot be run with so few microbatches
    }
  });
  std::map<std::string, std::int64_t> best;
  for (std::size_t at = 0; at < seeds.size(); ++at) {
    std::int64_t& best_ns = best[seeds[at].method];
    if (step_ns[at] != 0 && (best_ns == 0 || step_ns[at] < best_ns)) best_ns = step_ns[at];
  }
  return best;
}

}  // namespace plumb
