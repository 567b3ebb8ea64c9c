#include "tools/ask/plan_search_question.hpp"
#include "tools/options/plan_question.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "models/ground/coarse_clock.hpp"
#include "models/ground/error.hpp"
#include "models/pricing/profiled_network.hpp"
#include "sim/plan_search/plan_search.hpp"
#include "sim/plan_search/planner_seeds.hpp"
#include "sim/plan_search/tight_plans.hpp"
#include "tools/plans/closest_plan.hpp"
#include "tools/plans/enough_devices.hpp"
#include "tools/plans/plan_explain.hpp"
#include "tools/plans/plan_figures.hpp"
#include "tools/plans/plan_search_text.hpp"
#include "tools/plans/shared_trials.hpp"

namespace plumb {
namespace {

/// Of the time: what published planners and plans near theirs may take.
constexpr double kSeedShare = 0.4;
/// The same, with pricing.
constexpr double kPricingShare = 0.7;
/// Of the time: what is kept for the search with more memory, and for plans on fewer devices, where they are asked for.
constexpr double kSensitivityShare = 0.25;
constexpr double kFrontShare = 0.35;
/// Of the time for plans: what the search for faster plans takes that are tight.
constexpr double kTightShare = 0.3;
/// Where nothing fits: what the search for a number of devices takes, beside it.
constexpr double kDevicesShare = 0.5;
/// For every number of devices of a stage and length of the pipeline.
constexpr std::int64_t kFrontSimulations = 100;

PlanEffort effort_of(const PlanSearchArguments& arguments, const PlanSearchWatch& watch, const char* phase,
                     double share) {
  using Clock = CoarseClock;
  const auto begin = Clock::now();
  const std::chrono::duration<double> limit(share * arguments.time_limit_s.value_or(60));
  PlanEffort effort;
  if (arguments.simulations) effort.most_simulations = *arguments.simulations;
  const auto stop_at = [&](double part) {
    return [end = part * limit, begin, stop = watch.stop] { return stop() || Clock::now() - begin >= end; };
  };
  effort.stop = stop_at(1);
  effort.stop_seeds = stop_at(kSeedShare);
  effort.stop_pricing = stop_at(kPricingShare);
  effort.progress = [progress = watch.progress, phase](const PlanProgress& so_far) { progress(phase, so_far); };
  return effort;
}

/// Published planners put stages on unlike numbers of devices, which no training system runs: for one, they would only
/// take time.
bool asks_planners(const PlanQuestion& question) { return !question.is_for_systems() || question.ranges.replicated; }

/// Whether a plan may be tight: memory is limited, and its prediction has an error.
bool may_be_tight(const PlanQuestion& question) {
  const auto limited = [](const DeviceSpec& device) { return device.memory_bytes > 0; };
  return !is_profiled(question.network) &&
         (question.limits.memory_bytes > 0 || std::ranges::any_of(question.cluster.devices, limited));
}

std::vector<PipelinePlan> plans_of_planners(const PlanQuestion& question, const std::function<bool()>& stop) {
  std::vector<PipelinePlan> plans;
  if (!asks_planners(question)) return plans;
  for (PlannerSeed& seed : planner_seeds(question.job, question.ranges, stop)) plans.push_back(std::move(seed.plan));
  return plans;
}

/// Fills what `question` leaves open from its launch file, where it has one.
std::optional<LaunchedPlan> launched_of(PlanSearchQuestion& question) {
  if (question.job.time_limit_s && !(*question.job.time_limit_s > 0)) {
    throw Error("plan: --time-limit: expected seconds above 0");
  }
  size_cluster(question.job);
  if (!question.launch.any()) return std::nullopt;
  return launched_plan(question.launch.settings(), question.job);
}

}  // namespace

void PlanSearchQuestion::add_job_to(OptionTable& table) {
  job.add_to(table);
  launch.add_to(table, "from");
}

void PlanSearchQuestion::add_questions_to(OptionTable& table) {
  table.flag("explain", explain, "show which resource limits the plan: improve each one in turn and simulate again")
      .flag("front", front, "also find the fastest plan for every smaller number of devices")
      .flag("guide", guide, "print the settings for Megatron-LM and PyTorch (always with --runtime)");
}

PreparedPlanSearch::PreparedPlanSearch(PlanSearchQuestion question)
    : asked_(std::move(question)), launched_(launched_of(asked_)), question_(plan_question(asked_.job)) {}

PlanShown PreparedPlanSearch::shown(const std::string& output) const {
  const PlanSearchArguments& job = asked_.job;
  PlanShown shown{.network = job.network, .cluster = job.cluster};
  if (asked_.launch.any()) {
    shown.launched.emplace_back("--job", asked_.launch.file);
    for (const std::string& set : asked_.launch.set) shown.launched.emplace_back("--job-set", set);
    if (launched_) shown.said = launched_->said;
    if (!asked_.launch.arguments.empty()) shown.launched.emplace_back("--job-args", asked_.launch.arguments);
  }
  if (!output.empty() && output != "-") {
    shown.document = output;
    shown.written = true;
  }
  const auto repeat = [&](const char* option, const std::string& value) {
    if (!value.empty()) shown.repeated.emplace_back(option, value);
  };
  if (job.sequence) repeat("--sequence", std::to_string(*job.sequence));
  repeat("--precision", job.precision);
  repeat("--rates", job.rates);
  repeat("--memory-limit", job.memory_limit);
  return shown;
}

PlanAnswer PreparedPlanSearch::search_all(const PlanSearchWatch& watch, const ProcessShare& share, double part) const {
  const double first = may_be_tight(question_) ? 1 - kTightShare : 1;
  PlanEffort effort = effort_of(asked_.job, watch, "plan", part * first);
  SharedTrials shared(share, effort);
  const std::vector<PipelinePlan> seeds =
      shared.plans(question_.ranges, [&](const auto& stop) { return plans_of_planners(question_, stop); });
  if (asks_planners(question_) && effort.stop_seeds()) {  // some had no time to answer
    effort.late_seeds = [this, &shared] {
      return shared.plans(question_.ranges, [&](const auto& stop) { return plans_of_planners(question_, stop); });
    };
  }
  PlanAnswer sure = search_plan(question_.job, question_.ranges, effort, seeds);
  const bool fitted = std::ranges::any_of(question_.ranges.parallelisms, is_fitted);
  if (first == 1 || (!sure.lacked_memory && !fitted)) return sure;
  PlanEffort rest = effort_of(asked_.job, watch, "plan: tight ones", part * kTightShare);
  rest.most_simulations = std::max<std::int64_t>(1, rest.most_simulations / 2);
  if (!sure.best.empty()) rest.known_ns = sure.best.front().step_ns;
  const SharedTrials shared_too(share, rest);
  PricingLimits limits = question_.limits;
  limits.margin = FitMargin::kNone;
  PlanAnswer expected = search_plan(question_.job_on(question_.cluster, limits), question_.ranges, rest,
                                    sure.best.empty() ? seeds : std::vector<PipelinePlan>{});
  return with_expected(std::move(sure), std::move(expected), [this](const ScoredPlan& plan) {
    return plan_need(question_, plan).verdict() == MemoryVerdict::kFits;
  });
}

FoundPlans PreparedPlanSearch::search(const PlanSearchWatch& watch, const ProcessShare& share) const {
  const double kept = (asked_.front ? kFrontShare : 0) + (asked_.explain ? kSensitivityShare : 0);
  FoundPlans found{.answer = search_all(watch, share, 1 - kept), .best = {}};
  if (asked_.front) {
    PlanEffort fewer = effort_of(asked_.job, watch, "plan: fewer devices", kFrontShare);
    fewer.most_simulations = std::min(fewer.most_simulations, kFrontSimulations);
    const SharedTrials shared_too(share, fewer);
    found.answer.front = search_front(question_.job, question_.ranges, fewer, found.answer.front);
  }
  if (!asked_.job.planners.empty()) {
    found.answer.planner_ns =
        planner_steps(planner_seeds(question_.job, question_.ranges, watch.stop), question_.job.price);
  }
  if (!found.answer.best.empty()) found.best = simulate_plan(found.answer.best.front().plan, question_.job.price);
  return found;
}

std::string PreparedPlanSearch::text(const FoundPlans& found, const PlanShown& shown) const {
  std::string text = plan_answer_text(question_, found.answer, *found.best, shown);
  if (launched_)
    text = launched_plan_text(*launched_, *found.best, plan_need(question_, found.best->score)) + "\n" + text;
  if (asked_.guide || question_.runtime != nullptr) text += "\n" + plan_guide(question_, *found.best, shown);
  return text;
}

std::string PreparedPlanSearch::closest(const FoundPlans& found, const PlanSearchWatch& watch) const {
  if (!found.answer.closest) return "";
  const PlanEffort effort = effort_of(asked_.job, watch, "plan: more devices", kDevicesShare);
  return closest_plan_text(question_, asked_.job, *found.answer.closest) +
         enough_devices_text(asked_.job, question_, effort.stop);
}

std::string PreparedPlanSearch::sensitivities(const FoundPlans& found, const PlanSearchWatch& watch) const {
  if (!asked_.explain) return "";
  const PlanEffort effort = effort_of(asked_.job, watch, "plan: sensitivities", kSensitivityShare);
  return "\n" + sensitivities_text(plan_sensitivities(question_, *found.best, effort), found.best->score.step_ns);
}

}  // namespace plumb
