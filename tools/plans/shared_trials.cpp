#include "tools/plans/shared_trials.hpp"

#include <algorithm>
#include <utility>

#include <tbb/parallel_for.h>
#include <nlohmann/json.hpp>

namespace plumb {
namespace {

using TrialJson = nlohmann::json;

TrialJson trial_to_json(const PlanTrial& trial) {
  TrialJson score;
  if (trial.score) {
    const ScoredPlan& of = *trial.score;
    score = {of.step_ns,         of.peak_bytes,     of.excess_bytes, of.worst_place,
             of.bubble_fraction, of.price_per_hour, of.worst_bytes};
  }
  const MadeChoices& made = trial.made;
  const TrialJson choices{made.recompute,
                          made.zero,
                          made.zero_by_layer,
                          made.offload_by_stage,
                          made.of_stages.recomputed,
                          made.of_stages.sharded,
                          made.of_stages.offloaded};
  return {score,   trial.roomier.bounds, trial.refused, trial.simulated, trial.skipped,
          choices, trial.spare_bytes,    trial.shares};
}

PlanTrial trial_from_json(const TrialJson& json) {
  PlanTrial trial;
  if (const TrialJson& score = json[0]; !score.is_null()) {
    trial.score = ScoredPlan{.plan = {},
                             .step_ns = score[0].get<std::int64_t>(),
                             .peak_bytes = score[1].get<std::int64_t>(),
                             .excess_bytes = score[2].get<std::int64_t>(),
                             .worst_place = score[3].get<std::int32_t>(),
                             .worst_bytes = score[6].get<std::int64_t>(),
                             .bubble_fraction = score[4].get<double>(),
                             .price_per_hour = score[5].get<double>()};
  }
  trial.roomier.bounds = json[1].get<std::vector<std::size_t>>();
  trial.refused = json[2].get<std::string>();
  trial.simulated = json[3].get<bool>();
  trial.skipped = json[4].get<bool>();
  const TrialJson& choices = json[5];
  trial.made = {.recompute = choices[0].get<ActivationRecompute>(),
                .zero = choices[1].get<ZeroStage>(),
                .zero_by_layer = choices[2].get<bool>(),
                .offload_by_stage = choices[3].get<bool>(),
                .of_stages = {.recomputed = choices[4].get<std::vector<std::int32_t>>(),
                              .sharded = choices[5].get<std::vector<std::int32_t>>(),
                              .offloaded = choices[6].get<std::vector<std::int32_t>>()}};
  trial.spare_bytes = json[6].get<std::vector<std::int64_t>>();
  trial.shares = json[7].get<std::vector<std::int64_t>>();
  return trial;
}

/// Degrees by their number in `ranges`.
TrialJson plan_to_json(const PipelinePlan& plan, const PlanRanges& ranges) {
  const auto degrees = std::ranges::find(ranges.parallelisms, plan.parallelism) - ranges.parallelisms.begin();
  return {degrees,    plan.places,   plan.microbatches, plan.schedule, plan.chunks, plan.partition.bounds,
          plan.order, plan.replicas, plan.shares};
}

PipelinePlan plan_from_json(const TrialJson& json, const PlanRanges& ranges) {
  return {.parallelism = ranges.parallelisms[json[0].get<std::size_t>()],
          .places = json[1].get<std::int32_t>(),
          .microbatches = json[2].get<std::int64_t>(),
          .schedule = json[3].get<std::string>(),
          .chunks = json[4].get<std::int32_t>(),
          .partition = Partition{json[5].get<std::vector<std::size_t>>()},
          .order = json[6].get<std::vector<std::int32_t>>(),
          .replicas = json[7].get<std::vector<std::int32_t>>(),
          .shares = json[8].get<std::vector<std::int64_t>>()};
}

}  // namespace

SharedTrials::SharedTrials(const ProcessShare& share, PlanEffort& effort)
    : share_(share),
      stops_{effort.stop, effort.stop_seeds ? effort.stop_seeds : effort.stop,
             effort.stop_pricing ? effort.stop_pricing : effort.stop} {
  if (share.size == 1) return;
  effort.stop = [this] { return stopped_[0]; };
  effort.stop_seeds = [this] { return stopped_[1]; };
  effort.stop_pricing = [this] { return stopped_[2]; };
  effort.trials = [this](std::size_t count, const auto& work) { return trials(count, work); };
}

SharedTrials::Stops SharedTrials::own_stops() const {
  Stops stops{};
  std::ranges::transform(stops_, stops.begin(), [](const Stop& stop) { return stop && stop(); });
  return stops;
}

void SharedTrials::take_stops(const Stops& told) {
  std::ranges::transform(stopped_, told, stopped_.begin(), std::logical_or<>());
}

std::vector<PipelinePlan> SharedTrials::plans(const PlanRanges& ranges,
                                              const std::function<std::vector<PipelinePlan>(const Stop&)>& make) {
  const Stop& stop = stops_[std::exchange(seeds_made_, true) ? 0 : 1];
  if (share_.size == 1) return make(stop);
  TrialJson own = TrialJson::array();
  if (share_.is_first()) {
    for (const PipelinePlan& plan : make(stop)) own.push_back(plan_to_json(plan, ranges));
  }
  const TrialJson first = TrialJson::parse(share_.exchange(TrialJson{own_stops(), std::move(own)}.dump()).front());
  take_stops(first[0].get<Stops>());
  std::vector<PipelinePlan> plans;
  for (const TrialJson& plan : first[1]) plans.push_back(plan_from_json(plan, ranges));
  return plans;
}

std::vector<PlanTrial> SharedTrials::trials(std::size_t count, const std::function<PlanTrial(std::size_t)>& work) {
  std::vector<PlanTrial> all(count);
  const std::size_t own_count = (count + share_.size - 1 - share_.rank) / share_.size;
  tbb::parallel_for(std::size_t{0}, own_count, [&](std::size_t k) {
    const std::size_t at = share_.rank + k * share_.size;
    all[at] = work(at);
  });
  TrialJson own = TrialJson::array();
  for (std::size_t at = share_.rank; at < count; at += share_.size) own.push_back(trial_to_json(all[at]));
  const std::vector<std::string> texts = share_.exchange(TrialJson{own_stops(), std::move(own)}.dump());
  for (std::size_t rank = 0; rank < share_.size; ++rank) {
    const TrialJson told = TrialJson::parse(texts[rank]);
    take_stops(told[0].get<Stops>());
    std::size_t at = rank;
    for (const TrialJson& trial : told[1]) {
      all[at] = trial_from_json(trial);
      at += share_.size;
    }
  }
  return all;
}

}  // namespace plumb
