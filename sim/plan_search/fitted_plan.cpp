#include "sim/plan_search/fitted_plan.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "schedules/program/in_flight.hpp"
#include "sim/plan_search/bounds/plan_bounds.hpp"
#include "sim/plan_search/prices/layer_prices.hpp"

namespace plumb {
namespace {

using Counts = std::vector<std::int32_t>;
using ByteCounts = std::vector<std::int64_t>;

constexpr int kMostRounds = 24;
constexpr int kMostTries = 200;  ///< most changes that are tried of a plan that fits
constexpr std::int64_t kMostStashesHere =
    3;  ///< most stashes here of a stage that keeps them on the host: read, made, on the way
constexpr std::array<std::int32_t, 4> kCountSteps{1, 1, 25,
                                                  0};  ///< steps of the counts of each kind: layers, layers, percent

/// Kinds of choices.
enum Kind : std::size_t { kRunAgain, kShard, kOffload, kKinds };

Counts& counts_of(StageChoices& choices, std::size_t kind) {
  return kind == kRunAgain ? choices.recomputed : kind == kShard ? choices.sharded : choices.offloaded;
}

/// What a step of a kind, a layer or a quarter of the stashes, does for a stage.
struct Steps {
  Counts most{};               ///< largest counts, by stage
  ByteCounts spared{};         ///< bytes that a step spares, by stage
  std::vector<Ticks> takes{};  ///< time that a step takes, of all microbatches, by stage
};

/// Adds to the choices of a plan until it fits.
///
/// It begins with the plan that spares nothing and needs most room. A place that lacks room gets steps of the kind and
/// the stage of which a spared byte takes the least time. Each set of the kinds that may be chosen is tried. What the
/// best of these does not need is then taken back step by step.
class ChoiceFitting {
 public:
  ChoiceFitting(PipelinePlan plan, const StagePricing& price, bool named)
      : plan_(std::move(plan)),
        price_(price),
        named_(named),
        places_(std::ranges::max(plan_.order) + 1),
        num_stages_(plan_.partition.num_stages()) {
    const Parallelism& job = plan_.parallelism;
    left_ = {job.recompute == ActivationRecompute::kFitted && plan_.choices.recomputed.empty(),
             job.zero_by_layer && plan_.choices.sharded.empty(),
             job.offload_by_stage && plan_.choices.offloaded.empty()};
  }

  SimulatedPlan run() {
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
      if (left_[kind]) counts_of(plan_.choices, kind).assign(num_stages_, 0);
    }
    SimulatedPlan roomy = priced(plan_.choices);
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
      if (left_[kind]) steps_[kind] = steps_of(kind, roomy);
    }
    SimulatedPlan best;
    bool any = false;
    for (unsigned set = (1U << kKinds) - 1; set > 0; --set) {  // all that are left come first
      if (!is_new_set(set)) continue;
      SimulatedPlan found = fit(roomy, set);
      if (any && !is_better(found.score, best.score)) continue;
      best = std::move(found);
      any = true;
      if (best.score.plan.choices == plan_.choices && !left_[kShard]) return best;  // nothing is needed
    }
    climb(best);
    return best;
  }

 private:
  static bool is_better(const ScoredPlan& one, const ScoredPlan& other) {
    return std::pair(one.excess_bytes, one.step_ns) < std::pair(other.excess_bytes, other.step_ns);
  }

  static bool has(unsigned set, std::size_t kind) { return ((set >> kind) & 1U) != 0; }

  /// Returns whether the set has only kinds that are left.
  bool is_new_set(unsigned set) const {
    for (std::size_t kind = 0; kind < kKinds; ++kind) {
      if (has(set, kind) && !left_[kind]) return false;
    }
    return true;
  }

  /// Prices and places the plan with `choices`; it is not simulated yet.
  SimulatedPlan priced(const StageChoices& choices) const {
    PipelinePlan plan = plan_;
    plan.choices = choices;
    SimulatedPlan found{.stages = price_(plan.parallelism, plan.partition, places_, choices)};
    found.schedule = placed(plan_schedule(plan, found.stages, named_), plan.order);
    found.score.plan = std::move(plan);
    return found;
  }

  /// Prices with all steps of `kind` for every stage.
  PricedStages with_all(std::size_t kind, const Counts& most) const {
    StageChoices choices = plan_.choices;
    counts_of(choices, kind) = most;
    return price_(plan_.parallelism, plan_.partition, places_, choices);
  }

  /// Compares prices without and with all steps of `kind`; each step of a stage spares and takes an equal share.
  Steps steps_of(std::size_t kind, const SimulatedPlan& roomy) const {
    Steps steps{
        .most = Counts(num_stages_), .spared = ByteCounts(num_stages_), .takes = std::vector<Ticks>(num_stages_)};
    if (roomy.stages.costs.memory.empty()) return steps;
    const std::vector<std::int64_t> in_flight = peak_in_flight(roomy.schedule);
    for (std::size_t s = 0; s < num_stages_; ++s) {
      const Counts& layers = kind == kRunAgain ? roomy.stages.recomputable : roomy.stages.shardable;
      if (kind == kOffload) steps.most[s] = in_flight[s] > kMostStashesHere ? 100 : 0;
      if (kind != kOffload && s < layers.size()) steps.most[s] = layers[s];
    }
    const PricedStages all = kind == kOffload ? roomy.stages : with_all(kind, steps.most);
    for (std::size_t s = 0; s < num_stages_; ++s) {
      const std::int64_t count = std::max(1, steps.most[s] / kCountSteps[kind]);
      const StageMemory& now = roomy.stages.costs.memory[s];
      const StageMemory& then = all.costs.memory[s];
      const StageTimes& times = roomy.stages.costs.times[s];
      const StageTimes& longer = all.costs.times[s];
      const std::int64_t stash = stash_bytes(now);
      const std::int64_t spared = kind == kRunAgain ? in_flight[s] * (stash - stash_bytes(then))
                                  : kind == kShard  ? held_bytes(now) - held_bytes(then)
                                                   : std::max<std::int64_t>(0, in_flight[s] - kMostStashesHere) * stash;
      Ticks takes = longer.f + least_backward(longer) - times.f - least_backward(times);
      if (kind == kOffload) takes = std::max<Ticks>(0, times.evict + times.load - times.f - least_backward(times));
      steps.spared[s] = std::max<std::int64_t>(0, spared) / count;
      steps.takes[s] = std::max<Ticks>(0, takes * plan_.microbatches + longer.u - times.u) / count;
    }
    return steps;
  }

  /// Adds steps of the kinds in `set` until the plan fits or nothing is left to add.
  SimulatedPlan fit(const SimulatedPlan& roomy, unsigned set) const {
    SimulatedPlan found = roomy;
    StageChoices choices = plan_.choices;
    for (int round = 0; round < kMostRounds; ++round) {
      // What lists prove is known without a simulation.
      const ByteCounts proved = excess_by_place(found.stages, found.schedule);
      if (std::ranges::max(proved) > 0 && add_steps(found, proved, set, choices)) {
        found = priced(choices);
        continue;
      }
      const PlanRun simulated = run_placed_plan(found.score.plan, found.stages, found.schedule);
      found.score = simulated.score;
      if (found.score.fits() || !add_steps(found, simulated.excess_bytes, set, choices)) return found;
      found = priced(choices);
    }
    found.score = run_placed_plan(found.score.plan, found.stages, found.schedule).score;
    return found;
  }

  /// Adds steps for as many bytes as each place is above what it can use. Returns false if there are not enough.
  bool add_steps(const SimulatedPlan& now, const ByteCounts& excess, unsigned set, StageChoices& choices) const {
    const StageChoices before = choices;
    for (std::size_t place = 0; place < excess.size(); ++place) {
      for (std::int64_t left = excess[place]; left > 0;) {
        const auto [kind, stage] = cheapest(now.schedule, place, set, choices);
        if (kind == kKinds) return false;
        std::int32_t& count = counts_of(choices, kind)[stage];
        const std::int64_t each = steps_[kind].spared[stage];
        const std::int64_t room = (steps_[kind].most[stage] - count) / kCountSteps[kind];
        const std::int64_t added = std::min(room, (left + each - 1) / each);
        count += static_cast<std::int32_t>(added * kCountSteps[kind]);
        left -= added * each;
      }
    }
    return choices != before;
  }

  /// Returns the kind and the stage of `place` of which a byte takes least time, then of which a step spares most; no
  /// kind: nothing is left.
  std::pair<std::size_t, std::size_t> cheapest(const Schedule& schedule, std::size_t place, unsigned set,
                                               StageChoices& choices) const {
    std::pair<std::size_t, std::size_t> best{kKinds, 0};
    std::pair<double, std::int64_t> least{std::numeric_limits<double>::max(), 0};
    for (std::size_t s = 0; s < num_stages_; ++s) {
      const bool here = std::ranges::any_of(schedule.placement, [&](const auto& replica) {
        return std::ranges::any_of(replica[s], [&](DeviceId holder) { return index(holder) == place; });
      });
      for (std::size_t kind = 0; kind < kKinds && here; ++kind) {
        if (!has(set, kind) || !left_[kind]) continue;
        const Steps& steps = steps_[kind];
        if (counts_of(choices, kind)[s] >= steps.most[s] || steps.spared[s] <= 0) continue;
        // If there is one kind only, what spares most comes first.
        const bool alone = (set & (set - 1)) == 0;
        const double each = alone ? 0 : static_cast<double>(steps.takes[s]) / static_cast<double>(steps.spared[s]);
        const std::pair<double, std::int64_t> key{each, -steps.spared[s]};
        if (key >= least) continue;
        least = key;
        best = {kind, s};
      }
    }
    return best;
  }

  /// Takes steps back, adds some, and gives one of a kind for one of another, stage by stage, while the plan fits and
  /// gets faster: what several kinds spare adds up to more than was needed, and sharded layers spare updates. Not where
  /// longer passes are all that a step does.
  void climb(SimulatedPlan& best) const {
    if (!best.score.fits() || (std::ranges::count(left_, true) < 2 && !left_[kShard])) return;
    int tries = kMostTries;
    for (bool better = true; better;) {
      better = false;
      for (std::size_t s = 0; s < num_stages_; ++s) {
        for (std::size_t less = 0; less <= kKinds; ++less) {
          for (std::size_t more = 0; more <= kKinds; ++more) {
            StageChoices choices = best.score.plan.choices;
            if (!step(choices, less, s, -1) || !step(choices, more, s, 1) || choices == best.score.plan.choices)
              continue;
            if (--tries < 0) return;
            SimulatedPlan next = priced(choices);
            next.score = run_placed_plan(next.score.plan, next.stages, next.schedule).score;
            if (!next.score.fits() || next.score.step_ns >= best.score.step_ns) continue;
            best = std::move(next);
            better = true;
          }
        }
      }
    }
  }

  /// Changes one count; false where it cannot. `kKinds`: nothing is changed.
  bool step(StageChoices& choices, std::size_t kind, std::size_t stage, std::int32_t by) const {
    if (kind == kKinds) return true;
    if (!left_[kind]) return false;
    std::int32_t& count = counts_of(choices, kind)[stage];
    count += by * kCountSteps[kind];
    return count >= 0 && count <= steps_[kind].most[stage];
  }

  PipelinePlan plan_;
  const StagePricing& price_;
  bool named_;
  std::int32_t places_;  ///< places that are priced
  std::size_t num_stages_;
  std::array<bool, kKinds> left_{};  ///< whether the kind is left to be chosen
  std::array<Steps, kKinds> steps_{};
};

/// Replaces choices of stages by the policies that say the same, where there are such: nothing of all, or all layers.
PipelinePlan plainly(PipelinePlan plan, const PricedStages& stages) {
  Parallelism& job = plan.parallelism;
  StageChoices& choices = plan.choices;
  if (!choices.recomputed.empty()) {
    const bool some = chooses_some(choices.recomputed);
    if (!some || (choices.recomputed == stages.recomputable && job.flash_attention)) {
      job.recompute = some ? ActivationRecompute::kFull : ActivationRecompute::kNone;
      choices.recomputed.clear();
    }
  }
  if (!choices.sharded.empty()) {
    const bool all = choices.sharded == stages.shardable;
    if (all || !chooses_some(choices.sharded)) {
      if (all) job.zero = ZeroStage::kWeights;
      job.zero_by_layer = false;
      choices.sharded.clear();
    }
  }
  if (!choices.offloaded.empty() && !chooses_some(choices.offloaded)) {
    job.offload_by_stage = false;
    choices.offloaded.clear();
  }
  return plan;
}

}  // namespace

SimulatedPlan fitted_plan(const PipelinePlan& plan, const StagePricing& price, bool named) {
  const Parallelism& job = plan.parallelism;
  const bool asks = (job.recompute == ActivationRecompute::kFitted && plan.choices.recomputed.empty()) ||
                    (job.zero_by_layer && plan.choices.sharded.empty()) ||
                    (job.offload_by_stage && plan.choices.offloaded.empty());
  if (!asks) return simulate_plan(plan, price);
  SimulatedPlan found = ChoiceFitting(plan, price, named).run();
  found.score.plan = plainly(std::move(found.score.plan), found.stages);
  return found;
}

PlanTrial told_of(const SimulatedPlan& fitted) {
  const Parallelism& job = fitted.score.plan.parallelism;
  return {.score = fitted.score,
          .made = {.recompute = job.recompute,
                   .zero = job.zero,
                   .zero_by_layer = job.zero_by_layer,
                   .offload_by_stage = job.offload_by_stage,
                   .of_stages = fitted.score.plan.choices},
          .simulated = true};
}

void take_choices(const PlanTrial& trial, PipelinePlan& plan) {
  Parallelism& job = plan.parallelism;
  if (!is_fitted(job) || !trial.simulated) return;
  job.recompute = trial.made.recompute;
  job.zero = trial.made.zero;
  job.zero_by_layer = trial.made.zero_by_layer;
  job.offload_by_stage = trial.made.offload_by_stage;
  plan.choices = trial.made.of_stages;
}

bool is_open(const Parallelism& asked, const PipelinePlan& chosen) {
  if (!is_fitted(asked)) return false;
  return asked.zero_by_layer || chosen.parallelism.recompute >= ActivationRecompute::kFull ||
         chosen.parallelism.offload_by_stage;
}

}  // namespace plumb
