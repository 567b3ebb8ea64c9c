#include "sim/plan_search/plan_search.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include <tbb/parallel_for.h>

#include "models/ground/error.hpp"
#include "sim/plan_search/bounds/pass_counts.hpp"
#include "sim/plan_search/bounds/plan_bounds.hpp"
#include "sim/plan_search/bounds/steady_bounds.hpp"
#include "sim/plan_search/closest_plans.hpp"
#include "sim/plan_search/copy_shares.hpp"
#include "sim/plan_search/cut_units.hpp"
#include "sim/plan_search/fitted_plan.hpp"
#include "sim/plan_search/placed_schedule.hpp"
#include "sim/plan_search/plan_candidate.hpp"
#include "sim/plan_search/plan_cuts.hpp"
#include "sim/plan_search/plan_estimates.hpp"
#include "sim/plan_search/plan_front.hpp"
#include "sim/plan_search/plan_kinds.hpp"
#include "sim/plan_search/plan_queue.hpp"
#include "sim/plan_search/plan_setups.hpp"
#include "sim/plan_search/schedule_variants.hpp"
#include "sim/plan_search/seed_scores.hpp"
#include "sim/plan_search/setup_cuts.hpp"

namespace plumb {
namespace {

/// Most stages times microbatches of schedules that are searched themselves; others are left out.
constexpr std::int64_t kMostSearched = 4096;
/// Most cuts that local search adds in all.
constexpr std::int64_t kMostNear = 50'000;

/// What may be chosen, in the search's terms.
struct SearchSpace {
  const PlanRanges& ranges;
  const std::vector<ScheduleVariant>& variants;
  const PlanSetups& setups;
  ScheduleShapes& shapes;
  KnownPassCounts& passes;
};

/// Branch and bound over candidates: setups, their cuts, and plans.
///
/// `best_` is the step of the best plan so far. A candidate whose bound is no less is dropped. `left_out_` is the least
/// bound of what was dropped for another reason (time, too many cuts, shares that were chosen); the answer's bound is
/// the least of it and of what still waits. Batches are opened in parallel and taken in their order, so that threads
/// change no answer.
class Search {
 public:
  Search(const PlanJob& job, const SearchSpace& space, const PlanEffort& effort)
      : job_(job),
        effort_(effort),
        named_(!space.ranges.schedules.empty()),
        replicated_(space.ranges.replicated),
        setups_(space.setups.setups),
        undivided_(space.setups.undivided),
        variants_(space.variants),
        shapes_(space.shapes),
        passes_(space.passes),
        seeds_(job, effort.trials),
        queue_(setups_),
        least_missing_(space.setups.least_missing) {
    answer_.refused = space.setups.refused;
    answer_.setups = space.setups.combinations;
    answer_.without_memory = space.setups.without_memory;
    answer_.lacked_memory = answer_.without_memory > 0;
    answer_.unpriced = space.setups.unpriced;
    if (answer_.unpriced > 0) left_out_ = 0;
    if (effort.known_ns > 0) best_ = effort.known_ns;
  }

  PlanAnswer run(const std::vector<PipelinePlan>& seeds) {
    if (answer_.setups == 0) throw Error(why_impossible());
    take_seeds(seeds);
    refined_.resize(setups_.size());
    // When nothing that waits can beat the best plan, all cuts near that plan are tried, and again near a better one.
    do {
      while (queue_.least_bound() < best_ && !ended()) open_batch();
    } while (!ended() && look_around_best());
    if (replicated_) left_out_ = std::min(left_out_, least_replicated(undivided_, best_));
    if (left_out_ < best_) take(seeds_.go_on(effort_.most_simulations - tried(), effort_.stop));
    take_late_seeds();
    finish();
    return std::move(answer_);
  }

 private:
  std::string why_impossible() const {
    if (!answer_.refused.empty()) return answer_.refused;
    return "plan: no choice of degrees, microbatch size and stages divides the batch of " + std::to_string(job_.batch) +
           " on " + std::to_string(job_.num_devices) + " devices";
  }

  /// Not before something fits, or some plans have been tried: "nothing fits" must not mean that time ran out.
  bool ended() const {
    constexpr std::int64_t kFew = 100;
    if (tried() >= effort_.most_simulations) return true;
    return (best_ != kNoStep || tried() >= kFew) && time_is_over();
  }

  std::int64_t tried() const { return answer_.simulated - answer_.seeded; }

  bool time_is_over() const { return effort_.stop && effort_.stop(); }

  /// Opens the most promising candidates and takes what came of them.
  void open_batch() {
    const std::vector<PlanCandidate> batch = queue_.take(effort_.most_simulations - tried(), best_);
    std::vector<Opened> opened = open_all(batch);
    for (std::size_t at = 0; at < batch.size(); ++at) {
      if (opened[at].skipped) left_out_ = std::min(left_out_, batch[at].bound);
      take(batch[at], std::move(opened[at]));
    }
    if (!effort_.progress) return;
    effort_.progress({answer_.simulated, nanoseconds(best_),
                      nanoseconds(std::min({queue_.least_bound(), left_out_, best_})), queue_.size()});
  }

  /// Plans are simulated wherever `PlanEffort::trials` does that, all else in this process.
  std::vector<Opened> open_all(const std::vector<PlanCandidate>& batch) const {
    std::vector<Opened> opened(batch.size());
    std::vector<std::size_t> plans;
    for (std::size_t at = 0; at < batch.size(); ++at) {
      if (batch[at].level == PlanCandidate::Level::kPlan) plans.push_back(at);
    }
    tbb::parallel_for(std::size_t{0}, batch.size(), [&](std::size_t at) {
      if (batch[at].level != PlanCandidate::Level::kPlan) opened[at] = open(batch[at]);
    });
    // Until some plan fits, plans are simulated even when the time is over.
    std::atomic<bool> fits = best_ != kNoStep;
    const std::vector<PlanTrial> trials = effort_.trials(plans.size(), [&](std::size_t which) {
      if (fits && effort_.stop && effort_.stop()) return PlanTrial{.skipped = true};
      PlanTrial trial = try_plan(batch[plans[which]]);
      if (trial.score && trial.score->fits()) fits = true;
      return trial;
    });
    for (std::size_t which = 0; which < plans.size(); ++which) {
      opened[plans[which]] = opened_plan(batch[plans[which]], trials[which]);
    }
    return opened;
  }

  static std::int64_t nanoseconds(Ticks ticks) { return ticks == kNoStep ? 0 : ticks; }

  Opened open(const PlanCandidate& candidate) const {
    try {
      return candidate.level == PlanCandidate::Level::kSetup ? open_setup(candidate) : open_cut(candidate);
    } catch (const Error& error) {  // this size is none of the schedule's, or cannot be priced
      return {.refused = error.what()};
    }
  }

  /// Gives a setup its tighter bound and puts it back. Most setups are dropped by the cheap bound and never come here.
  /// When the time is over and nothing fits yet, there is no time for the tighter one.
  Opened refine(PlanCandidate candidate) const {
    const PlanSetup& setup = setups_[candidate.setup];
    sizes_.check(setup, variants_);
    Opened opened;
    candidate.refined = true;
    if (!time_is_over()) candidate.bound = std::max(candidate.bound, refined_bound(setup, variants_, passes_, best_));
    opened.candidates.push_back(std::move(candidate));
    return opened;
  }

  /// Cuts a setup: into all cuts and orders if these are few; otherwise its bound stays in the answer's.
  Opened open_setup(const PlanCandidate& candidate) const {
    if (!candidate.refined) return refine(candidate);
    SetupCuts all = cuts_of(setups_[candidate.setup], variants_, effort_.most_exact, shapes_);
    Opened opened;
    if (!all.exact) opened.left_out = candidate.bound;
    for (SetupCut& cut : all.cuts) {
      PlanCandidate child{.bound = candidate.bound,
                          .estimate = cut.estimate,
                          .level = PlanCandidate::Level::kCut,
                          .setup = candidate.setup};
      child.order = std::move(cut.order);
      child.partition = std::move(cut.partition);
      child.exact = all.exact;
      child.few_shares = all.few_shares;
      opened.candidates.push_back(std::move(child));
    }
    return opened;
  }

  std::shared_ptr<const PricedStages> priced(const PlanCandidate& candidate, const Parallelism& parallelism,
                                             const StageChoices& choices) const {
    const std::int32_t places = *std::max_element(candidate.order.begin(), candidate.order.end()) + 1;
    return std::make_shared<const PricedStages>(job_.price(parallelism, candidate.partition, places, choices));
  }

  /// Makes a plan of a cut with each schedule that has so many stages, bounded by its stages on their places.
  Opened open_cut(const PlanCandidate& candidate) const {
    const PlanSetup& setup = setups_[candidate.setup];
    Opened opened;
    std::map<std::vector<std::int32_t>, std::shared_ptr<const PricedStages>> known;  // by the places of stages
    for (std::size_t v = 0; v < variants_.size(); ++v) {
      const ScheduleVariant& variant = variants_[v];
      if (candidate.variant != kEveryVariant && v != candidate.variant) continue;
      if (static_cast<std::size_t>(variant.stages(setup.places)) != candidate.partition.num_stages()) continue;
      if (!setup.tries(variant)) continue;
      // On one place all schedules with one stage are alike.
      if (setup.places == 1 && variant.per_place == 1 && v != one_place_variant(variants_)) continue;
      const StageChoices choices = setup.choices_for(variant, candidate.order);
      std::shared_ptr<const PricedStages>& stages = known[choices.places];
      if (!stages) stages = priced(candidate, *setup.parallelism, choices);
      PlanCandidate plan = candidate;
      plan.level = PlanCandidate::Level::kPlan;
      plan.variant = v;
      plan.stages = stages;
      plan.slow = variant.for_costs;
      plan.bound = candidate.bound;
      if (!variant.sliced)
        plan.bound = std::max(plan.bound, placed_bound(setup, variant, {candidate.order, candidate.shares}, *stages));
      const Ticks estimate =
          cut_estimate(setup, variant, {.order = candidate.order, .partition = candidate.partition}, shapes_);
      plan.estimate = static_cast<Ticks>(candidate.ratio * static_cast<double>(std::max(plan.bound, estimate)));
      if (plan.slow &&
          setup.microbatches * static_cast<std::int64_t>(candidate.partition.num_stages()) > kMostSearched) {
        opened.left_out = std::min(opened.left_out, plan.bound);
        continue;
      }
      add_plans(std::move(plan), opened);
    }
    return opened;
  }

  /// One plan; of copies in a setup with few cuts and shares one for all shares that they may have.
  void add_plans(PlanCandidate plan, Opened& opened) const {
    const PlanSetup& setup = setups_[plan.setup];
    if (setup.copies == 1 || !plan.few_shares) {
      if (setup.copies > 1) opened.left_out = std::min(opened.left_out, plan.bound);
      opened.candidates.push_back(std::move(plan));
      return;
    }
    const ScheduleVariant& variant = variants_[plan.variant];
    for (std::vector<std::int64_t>& shares : all_shares(setup.microbatches, setup.copies)) {
      PlanCandidate& one = opened.candidates.emplace_back(plan);
      one.shares = std::move(shares);
      if (!variant.sliced)
        one.bound = std::max(one.bound, placed_bound(setup, variant, {one.order, one.shares}, *plan.stages));
      one.estimate = std::max(one.estimate, one.bound);
    }
  }

  PipelinePlan plan_of(const PlanCandidate& candidate) const {
    const PlanSetup& setup = setups_[candidate.setup];
    const ScheduleVariant& variant = variants_[candidate.variant];
    return {.parallelism = *setup.parallelism,
            .places = setup.places * setup.copies,
            .microbatches = setup.microbatches,
            .schedule = std::string(variant.spec->name),
            .chunks = variant.chunks,
            .partition = candidate.partition,
            .order = candidate.order,
            .shares = setup.copies > 1 && candidate.shares.empty() ? open_shares(setup.copies) : candidate.shares,
            .choices = setup.choices_for(variant, candidate.order)};
  }

  /// Simulates a plan, unless it is proved not to fit: then its score is its bound and what it lacks.
  PlanTrial try_plan(const PlanCandidate& candidate) const {
    PlanTrial trial;
    try {
      PipelinePlan plan = plan_of(candidate);
      if (is_fitted(plan.parallelism)) {
        const SimulatedPlan fitted = fitted_plan(plan, job_.price, named_);
        trial = told_of(fitted);
        if (is_open(plan.parallelism, fitted.score.plan)) find_room(candidate, fitted.schedule, trial);
        return trial;
      }
      const auto stages = candidate.stages ? candidate.stages : priced(candidate, plan.parallelism, plan.choices);
      if (candidate.shares.empty() && !plan.shares.empty()) {
        trial.shares = plan.shares = chosen_shares(plan, *stages, named_);
      }
      const Schedule schedule = placed(plan_schedule(plan, *stages, named_), plan.order);
      const std::vector<std::int64_t> excess = excess_by_place(*stages, schedule);
      if (const auto worst = std::ranges::max_element(excess); *worst > 0) {
        trial.score = ScoredPlan{.plan = plan,
                                 .step_ns = nanoseconds(candidate.bound),
                                 .excess_bytes = *worst,
                                 .worst_place = static_cast<std::int32_t>(worst - excess.begin())};
      } else {
        trial.score = run_placed_plan(plan, *stages, schedule).score;
        trial.simulated = true;
      }
      if (!trial.score->fits()) find_room(candidate, schedule, trial);
    } catch (const Error& error) {  // this size is none of the schedule's
      trial = {.refused = error.what()};
    }
    return trial;
  }

  /// Balances the cut again with the microbatches that `schedule` has in flight. Memory is counted by layers there,
  /// which is a little too small. So what is missing stays free on its place until another cut comes of it.
  void find_room(const PlanCandidate& candidate, const Schedule& schedule, PlanTrial& trial) const {
    if (candidate.exact || candidate.cut_again == kMostCutAgain) return;
    trial.spare_bytes = candidate.spare_bytes;
    for (std::int32_t k = candidate.cut_again; k <= kMostCutAgain; ++k) {
      if (k > 0 && !add_spare(setups_[candidate.setup], *trial.score, trial.spare_bytes)) return;
      auto cut = roomier_stages(setups_[candidate.setup], variants_[candidate.variant], candidate.order, schedule,
                                trial.spare_bytes);
      if (cut && *cut == candidate.partition) continue;
      if (cut) trial.roomier = *std::move(cut);
      return;
    }
  }

  /// Turns a trial, which may come from another process, into what opening gave: a score, and a roomier cut.
  Opened opened_plan(const PlanCandidate& candidate, const PlanTrial& trial) const {
    Opened opened{
        .score = trial.score, .refused = trial.refused, .simulated = trial.simulated, .skipped = trial.skipped};
    if (!opened.score) return opened;
    PipelinePlan& plan = opened.score->plan = plan_of(candidate);
    const Parallelism asked = plan.parallelism;
    take_choices(trial, plan);
    if (!trial.shares.empty()) plan.shares = trial.shares;
    // Other choices of stages may be better, so the bound stays.
    if (is_open(asked, plan)) opened.left_out = candidate.bound;
    opened.stages =
        candidate.stages && !is_fitted(asked) ? candidate.stages : priced(candidate, plan.parallelism, plan.choices);
    if (trial.roomier.bounds.empty()) return opened;
    PlanCandidate& again = opened.candidates.emplace_back(candidate);
    again.partition = trial.roomier;
    again.stages = nullptr;
    ++again.cut_again;
    again.spare_bytes = trial.spare_bytes;
    again.bound = refined_[candidate.setup];
    return opened;
  }

  void take(const PlanCandidate& candidate, Opened opened) {
    left_out_ = std::min(left_out_, opened.left_out);
    if (answer_.refused.empty()) answer_.refused = std::move(opened.refused);
    for (PlanCandidate& child : opened.candidates) {
      if (child.level == PlanCandidate::Level::kSetup) refined_[child.setup] = child.bound;
      // What comes of a plan is another cut, which may have been tried.
      if (candidate.level != PlanCandidate::Level::kPlan || is_new(child)) queue_.push(std::move(child), best_);
    }
    if (!opened.score) return;
    answer_.simulated += opened.simulated ? 1 : 0;
    const Ticks before = best_;
    take(*opened.score);
    if (best_ < before) (best_candidate_ = candidate)->stages = opened.stages;
    if (!candidate.exact && opened.score->fits()) climb(candidate, *opened.score, *opened.stages);
  }

  /// Looks near a plan that is the best of its line (setup, schedule and order) and not far from the best of all.
  void climb(const PlanCandidate& candidate, const ScoredPlan& score, const PricedStages& stages) {
    const Ticks step = score.step_ns;
    const auto [line, is_new] = lines_.try_emplace({candidate.setup, candidate.variant, candidate.order}, step);
    if (!is_new && step >= line->second) return;
    line->second = step;
    if (step <= best_ + best_ / 10 && near_ < kMostNear) add_near(candidate, stages, step);
  }

  void take(const ScoredPlan& score) {
    if (!score.fits()) {
      answer_.lacked_memory = true;
      closest_.add(score);
      return;
    }
    front_.add(score);
    const auto [known, is_new] = kinds_.try_emplace(plan_kind(score.plan), score);
    if (!is_new && better_plan(score, known->second)) known->second = score;
    const Ticks step = score.step_ns;
    best_ = std::min(best_, step);
  }

  bool is_new(const PlanCandidate& candidate) {
    return seen_.insert({candidate.setup, candidate.variant, candidate.order, candidate.partition.bounds}).second;
  }

  /// Queues cuts that may be faster than the one of `candidate`, and orders with two unlike places exchanged.
  void add_near(const PlanCandidate& candidate, const PricedStages& stages, Ticks step) {
    const PlanSetup& setup = setups_[candidate.setup];
    const ScheduleVariant& variant = variants_[candidate.variant];
    is_new(candidate);
    SetupCut here{.order = candidate.order, .partition = candidate.partition};
    const double ratio = ratio_of(candidate, step);
    for (Partition& cut : promising_cuts(setup, variant, here, stages.costs)) {
      push_near(candidate, {.order = candidate.order, .partition = std::move(cut)}, ratio);
    }
    for (std::vector<std::int32_t>& order : swapped_orders(*setup.prices, candidate.order)) {
      if (setup.copies > 1) sort_copies(order, setup.copies);
      auto cut = balanced_stages(setup, variant, order, std::vector<std::int64_t>(candidate.partition.num_stages(), 0));
      push_near(candidate, {.order = order, .partition = candidate.partition}, ratio);
      if (cut) push_near(candidate, {.order = std::move(order), .partition = *std::move(cut)}, ratio);
    }
  }

  /// Returns a step over the estimate of its plan.
  double ratio_of(const PlanCandidate& candidate, Ticks step) const {
    const SetupCut here{.order = candidate.order, .partition = candidate.partition};
    const Ticks estimate = cut_estimate(setups_[candidate.setup], variants_[candidate.variant], here, shapes_);
    return static_cast<double>(step) / static_cast<double>(std::max<Ticks>(1, estimate));
  }

  /// Queues all cuts near the best plan, promising or not. Returns whether there were any that are new.
  bool look_around_best() {
    if (!best_candidate_ || best_candidate_->exact) return false;
    const PlanCandidate candidate = *std::exchange(best_candidate_, std::nullopt);
    const std::int64_t before = near_;
    for (Partition& cut : near_cuts(candidate.partition, most_loaded(candidate.stages->costs.times, 2))) {
      push_near(candidate, {.order = candidate.order, .partition = std::move(cut)}, ratio_of(candidate, best_));
    }
    return near_ > before;
  }

  /// Queues a cut near a simulated one, estimated by how far the estimate of that one was off (`ratio`).
  void push_near(const PlanCandidate& candidate, SetupCut cut, double ratio) {
    PlanCandidate near{
        .level = PlanCandidate::Level::kCut, .setup = candidate.setup, .variant = candidate.variant, .ratio = ratio};
    near.bound = refined_[candidate.setup];
    near.estimate =
        static_cast<Ticks>(ratio * static_cast<double>(cut_estimate(setups_[candidate.setup],
                                                                    variants_[candidate.variant], cut, shapes_)));
    near.order = std::move(cut.order);
    near.partition = std::move(cut.partition);
    near.cut_again = kMostCutAgain;
    if (!is_new(near)) return;
    ++near_;
    queue_.push(std::move(near), best_);
  }

  /// Simulates plans of published planners, plans that the bounds of stages with several holders point at, and plans
  /// near the best of these.
  void take_seeds(const std::vector<PipelinePlan>& seeds) {
    const std::vector<PipelinePlan> own = replicated_ ? replicated_plans(undivided_) : std::vector<PipelinePlan>{};
    const std::function<bool()>& stop = effort_.stop_seeds ? effort_.stop_seeds : effort_.stop;
    take(seeds_.begin(own, {}));  // few, and whatever time has been taken: without them bounds were for nothing
    take(seeds_.begin(seeds, stop));
    answer_.seeded = answer_.simulated;
    take(seeds_.go_on(effort_.most_simulations / 2, stop));
  }

  void take_late_seeds() {
    if (left_out_ >= best_ || !effort_.late_seeds || ended()) return;
    const std::int64_t before = answer_.simulated;
    take(seeds_.begin(effort_.late_seeds(), effort_.stop));
    answer_.seeded += answer_.simulated - before;
    take(seeds_.go_on(effort_.most_simulations - tried(), effort_.stop));
  }

  void take(const std::vector<ScoredPlan>& scores) {
    answer_.simulated += std::ssize(scores);
    for (const ScoredPlan& score : scores) take(score);
  }

  void finish() {
    for (const auto& [kind, score] : kinds_) answer_.best.push_back(score);
    std::sort(answer_.best.begin(), answer_.best.end(), better_plan);
    keep_families(answer_.best, effort_.keep);
    answer_.front = front_.take();
    const Ticks bound = std::min({best_, left_out_, queue_.least_bound()});
    answer_.bound_ns = nanoseconds(bound);
    answer_.exhausted = bound >= best_;
    answer_.cut_short = answer_.unpriced > 0 || queue_.least_bound() < best_;
    if (!answer_.best.empty() || effort_.known_ns > 0) return;
    answer_.closest =
        closest_.find([&](const PipelinePlan& plan) { return fitted_plan(plan, job_.price, true).score; });
    if (!answer_.closest) answer_.closest = least_missing_;
  }

  const PlanJob& job_;
  const PlanEffort& effort_;
  bool named_;
  bool replicated_;
  const std::vector<PlanSetup>& setups_;
  const std::vector<UndividedSetup>& undivided_;
  const std::vector<ScheduleVariant>& variants_;
  ScheduleShapes& shapes_;
  KnownPassCounts& passes_;
  SeedSearch seeds_;
  PlanQueue queue_;
  const std::optional<ScoredPlan>& least_missing_;  ///< plan that is proved not to fit and misses least
  std::vector<Ticks> refined_;                      ///< bounds of the setups that have been opened
  mutable KnownSizes sizes_;
  Ticks best_ = kNoStep;      ///< step of the best plan
  Ticks left_out_ = kNoStep;  ///< least bound of what was not opened
  PlanFront front_;
  std::map<PlanKind, ScoredPlan> kinds_;
  std::set<std::tuple<std::size_t, std::size_t, std::vector<std::int32_t>, std::vector<std::size_t>>> seen_;
  std::map<std::tuple<std::size_t, std::size_t, std::vector<std::int32_t>>, Ticks> lines_;  ///< best step of each
  std::int64_t near_ = 0;
  std::optional<PlanCandidate> best_candidate_;  ///< whose plan is the best, as long as not all near it has been tried
  ClosestPlans closest_;
  PlanAnswer answer_;
};

}  // namespace

PlanAnswer search_plan(const PlanJob& job, const PlanRanges& ranges, const PlanEffort& effort,
                       const std::vector<PipelinePlan>& seeds) {
  const PlanJob units = job_of_units(job);
  PlanEffort of_units = effort;
  if (!of_units.trials) of_units.trials = tried_here;
  if (effort.late_seeds) of_units.late_seeds = [&] { return in_units(effort.late_seeds(), job.units); };
  const std::vector<ScheduleVariant> variants = schedule_variants(ranges);
  ScheduleShapes shapes;
  KnownPassCounts passes;
  const PlanSetups setups = plan_setups(units, ranges, variants, shapes, of_units);
  return in_layers(Search(units, {ranges, variants, setups, shapes, passes}, of_units).run(in_units(seeds, job.units)),
                   job.units);
}

}  // namespace plumb
