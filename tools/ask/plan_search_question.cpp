#include "tools/ask/plan_search_question.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/cluster/cluster_io.hpp"
#include "models/ground/coarse_clock.hpp"
#include "models/ground/error.hpp"
#include "models/jobs/layer_recompute.hpp"
#include "models/pricing/profiled_network.hpp"
#include "schedules/catalogue/pipeline_copies.hpp"
#include "schedules/document/schedule_io.hpp"
#include "sim/plan_search/pipeline_plan.hpp"
#include "sim/plan_search/placed_schedule.hpp"
#include "sim/plan_search/plan_search.hpp"
#include "sim/plan_search/planner_seeds.hpp"
#include "sim/plan_search/tight_plans.hpp"
#include "sim/prediction/predict.hpp"
#include "sim/simulate.hpp"
#include "tools/ask/answer.hpp"
#include "tools/ask/request.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/options/memory_relief.hpp"
#include "tools/options/plan_question.hpp"
#include "tools/plans/plan_figures.hpp"
#include "tools/plans/plan_search_text.hpp"
#include "tools/plans/shared_trials.hpp"
#include "tools/terminal/answer_lines.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

/// One resource improved, and the step time that it gives.
struct PlanSensitivity {
  std::string what;
  std::int64_t step_ns = 0;
  bool searched = false;  ///< another plan may be the best then; otherwise the same plan scored again
};

constexpr double kBetter = 1.1;
constexpr double kMoreMemory = 1.25;

using Change = std::function<void(Cluster&)>;

/// Rates that kernel tables know are shares of peaks, so a better peak is a better device.
std::vector<std::pair<std::string, Change>> changes_of(const Cluster& cluster) {
  std::vector<std::pair<std::string, Change>> changes;
  std::set<std::string> names;
  for (const DeviceSpec& device : cluster.devices) names.insert(device.name);
  for (const std::string& name : names) {
    const auto each = [name](Cluster& changed, auto change) {
      for (DeviceSpec& device : changed.devices) {
        if (device.name == name) change(device);
      }
    };
    changes.emplace_back(name + " computes 10 % faster",
                         [each](Cluster& c) { each(c, [](DeviceSpec& device) { device.flops_per_s *= kBetter; }); });
    changes.emplace_back("memory of " + name + " is 10 % faster", [each](Cluster& c) {
      each(c, [](DeviceSpec& device) { device.memory_bytes_per_s *= kBetter; });
    });
  }
  if (cluster.devices_per_node > 1) {
    changes.emplace_back("links inside nodes have 10 % more bandwidth",
                         [](Cluster& c) { c.intra_node.bytes_per_s *= kBetter; });
  }
  if (cluster.devices.size() > static_cast<std::size_t>(cluster.devices_per_node)) {
    changes.emplace_back("links between nodes have 10 % more bandwidth",
                         [](Cluster& c) { c.inter_node.bytes_per_s *= kBetter; });
    changes.emplace_back("links between nodes have 10 % less latency", [](Cluster& c) {
      c.inter_node.latency_ns = std::llround(static_cast<double>(c.inter_node.latency_ns) / kBetter);
    });
  }
  return changes;
}

/// Every stage as long as the mean of all, by the speed of its device.
std::int64_t balanced_step(const SimulatedPlan& best) {
  PricedStages stages = best.stages;
  std::vector<StageTimes>& times = stages.costs.times;
  const auto& placement = best.schedule.placement[0];
  const auto speed = [&](std::size_t s) {
    double sum = 0;
    for (const DeviceId device : placement[s]) sum += stages.pipeline.devices[index(device)].speed;
    return sum;
  };
  double together = 0;
  for (std::size_t s = 0; s < times.size(); ++s) together += speed(s);
  for (Ticks StageTimes::*member : {&StageTimes::f, &StageTimes::b, &StageTimes::i, &StageTimes::w, &StageTimes::r}) {
    double sum = 0;
    for (const StageTimes& stage : times) sum += static_cast<double>(stage.*member);
    for (std::size_t s = 0; s < times.size(); ++s) times[s].*member = std::llround(sum * speed(s) / together);
  }
  return run_placed_plan(best.score.plan, stages, best.schedule).score.step_ns;
}

/// The plan simulated again with one resource at a time 10 % better: every kind of device, the speed of its memory,
/// links inside and between nodes; then with perfectly balanced stages, and with a quarter more memory, for which
/// `effort` searches again. The most helpful comes first.
std::vector<PlanSensitivity> plan_sensitivities(const PlanQuestion& question, const SimulatedPlan& best,
                                                const PlanEffort& effort) {
  std::vector<PlanSensitivity> all;
  for (const auto& [what, change] : changes_of(question.cluster)) {
    Cluster better = question.cluster;
    change(better);
    better.finish();
    const PlanJob job = question.job_on(better, question.limits);
    all.push_back({what, simulate_plan(best.score.plan, job.price).score.step_ns});
  }
  if (best.schedule.placement.size() == 1) all.push_back({"all stages take the same time", balanced_step(best)});
  Cluster larger = question.cluster;
  const auto more = [](std::int64_t bytes) { return std::llround(static_cast<double>(bytes) * kMoreMemory); };
  for (DeviceSpec& device : larger.devices) device.memory_bytes = more(device.memory_bytes);
  PricingLimits limits = question.limits;
  limits.memory_bytes = more(limits.memory_bytes);
  const PlanAnswer roomy = search_plan(question.job_on(larger, limits), question.ranges, effort, {best.score.plan});
  if (!roomy.best.empty()) all.push_back({"devices have 25 % more memory", roomy.best.front().step_ns, true});
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.step_ns < b.step_ns; });
  return all;
}

/// As a table.
std::string sensitivities_text(const std::vector<PlanSensitivity>& sensitivities, std::int64_t step_ns) {
  TextTable table({{"what would help"}, {"step time", '>'}, {"change", '>'}});
  for (const PlanSensitivity& one : sensitivities) {
    const double share = static_cast<double>(one.step_ns - step_ns) / static_cast<double>(step_ns);
    table.add_row({one.what + (one.searched ? " (searched again)" : ""), time_text(one.step_ns),
                   fixed_text(100 * share, 2) + " %"});
  }
  return table.to_string();
}

/// The job of the plan.
CostSource source_of(const PlanQuestion& question, const PlanSearchArguments& arguments, const PipelinePlan& plan) {
  AnalyticJob job;
  job.book = std::make_shared<JobPriceBook>(std::make_shared<const Network>(question.network),
                                            std::make_shared<const Cluster>(question.cluster), question.rates);
  job.network_name = arguments.network;
  job.cluster_name = arguments.cluster;
  job.parallelism = plan.parallelism;
  job.choices = plan.choices;
  job.cut = cut_as(plan.partition);
  return {.kind = std::move(job)};
}

/// Changes to degrees that the system has; any where no system was named.
bool has(const PlanRuntime* runtime, const Parallelism& now, const Parallelism& then) {
  if (runtime == nullptr) return true;
  if (then.zero != now.zero && !runtime->has(then.zero)) return false;
  return then.recompute == now.recompute || (then.modules.empty() && runtime->has(then.recompute));
}

std::vector<MemoryRelief> reliefs_of(const PlanQuestion& question, const PlanSearchArguments& arguments,
                                     const PipelinePlan& plan) {
  ScheduleArguments size;
  size.devices = plan.places;
  size.microbatches = plan.microbatches;
  if (plan.chunks > 0) size.chunks = plan.chunks;
  if (!plan.shares.empty()) size.options = {std::string(kCopyShares) + "=" + shares_text(plan)};
  const CostSource source = source_of(question, arguments, plan);
  const MemoryLimit limit = parse_memory_limit(arguments.memory_limit, true);
  const RunRules rules{.runtime = std::string(question.limits.runtime)};
  const Schedule schedule = load_schedule(
      plan.schedule, size, {.costs = costs_for_search(source, plan.places), .memory_limit = limit.value.value_or(0)});
  const Timeline timeline = predict(schedule, source, rules, limit);
  std::vector<MemoryRelief> reliefs = memory_reliefs({plan.schedule, size, source, limit, rules}, schedule, timeline);
  std::erase_if(reliefs, [&](const MemoryRelief& relief) {
    return !has(question.runtime, plan.parallelism, relief.parallelism);
  });
  return reliefs;
}

/// What is said of the plan that exceeds the memory least, where nothing fits: its three largest tensors, and a table
/// of changes that save memory, each simulated, which the system that the plan is for can run. `arguments` are those of
/// the search, its cluster with its size. Empty where layers are measured or the plan has no cut.
std::string closest_plan_text(const PlanQuestion& question, const PlanSearchArguments& arguments,
                              const ScoredPlan& closest) {
  const PipelinePlan& plan = closest.plan;
  if (is_profiled(question.network) || plan.partition.num_stages() == 0 || plan.schedule.empty()) return {};
  try {
    const std::string largest = plan_largest(question, simulate_plan(plan, question.job.price));
    const std::string help = plan.replicas.empty() ? relief_text(reliefs_of(question, arguments, plan)) : "";
    return (largest.empty() ? "" : "largest: " + largest + "\n") + help;
  } catch (const Error&) {  // its schedule is not made by its name alone
    return {};
  }
}

constexpr std::int64_t kMostTried = 16'384;  // devices
/// Of a search on one number of devices; it ends with the first plan that fits.
constexpr std::int64_t kFewSimulations = 200;

/// The built-in cluster without its size; empty: it is none.
std::string built_in_name(const std::string& name) {
  std::string found;
  for (const std::string_view known : builtin_clusters()) {
    const bool same = name == known || name.starts_with(std::string(known) + "-");
    if (same && known.size() > found.size()) found = known;
  }
  return found;
}

bool some_plan_fits(PlanSearchArguments arguments, const std::string& cluster, const std::function<bool()>& stop) {
  arguments.cluster = cluster;
  arguments.devices.reset();
  arguments.first_devices.reset();
  bool found = false;
  try {
    const PlanQuestion question = plan_question(arguments);
    PlanEffort effort{.most_simulations = kFewSimulations, .keep = 1};
    effort.stop = [&] { return found || stop(); };
    effort.progress = [&](const PlanProgress& so_far) { found = found || so_far.best_ns > 0; };
    return !search_plan(question.job, question.ranges, effort).best.empty();
  } catch (const Error&) {  // no degrees for this number of devices
    return false;
  }
}

/// Where nothing fits: on how many devices of the same built-in cluster a short search finds a plan that surely fits,
/// and on how many it found none. It doubles the nodes until one is found, and then halves the interval. `arguments`
/// are those of `question`. Empty for other clusters, and where nothing was found before `stop`.
std::string enough_devices_text(const PlanSearchArguments& arguments, const PlanQuestion& question,
                                const std::function<bool()>& stop) {
  const std::string base = built_in_name(question.cluster.name);
  const std::int64_t per_node = question.cluster.devices_per_node;
  if (base.empty() || arguments.first_devices) return {};
  const auto fits = [&](std::int64_t nodes) {
    return some_plan_fits(arguments, base + "-" + std::to_string(nodes) + "x" + std::to_string(per_node), stop);
  };
  const auto all = std::ssize(question.cluster.devices);
  std::int64_t none = std::max<std::int64_t>(1, all / per_node);
  std::optional<std::int64_t> enough;
  for (std::int64_t nodes = 2 * none; nodes * per_node <= kMostTried && !enough; nodes *= 2) {
    if (stop()) return {};
    if (fits(nodes)) {
      enough = nodes;
    } else {
      none = nodes;
    }
  }
  if (!enough) return {};
  while (*enough - none > 1 && !stop()) {
    const std::int64_t nodes = none + (*enough - none) / 2;
    if (fits(nodes)) {
      enough = nodes;
    } else {
      none = nodes;
    }
  }
  const std::string devices = std::to_string(*enough * per_node);
  return "needs more devices: a plan fits on " + devices + " (--cluster " + shell_word(base) + " --devices " + devices +
         "); on " + std::to_string(none * per_node) + " none was found\n";
}

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

/// `plan train.sh` means the job of that launch file, `plan llama3-8b` that network.
void take_model(PlanSearchQuestion& question) {
  if (question.model.empty()) return;
  const std::string& model = question.model.front();
  if (question.model.size() > 1) {
    throw Error("plan: '" + question.model[1] + "' is one argument too many, expected one network or launch file");
  }
  const bool launches = is_launch_path(model);
  if (question.launch.any() || (!launches && !question.job.network.empty())) {
    throw Error("plan: '" + model + "': " + (question.launch.any() ? "--from" : "--network") +
                " says what is trained, too; expected one of them");
  }
  (launches ? question.launch.file : question.job.network) = model;
  question.given.emplace_back(launches ? "from" : "network", model);  // as an option, in the commands of the answer
  question.model.clear();
}

/// Fills what `question` leaves open from its launch file, where it has one.
std::optional<LaunchedPlan> launched_of(PlanSearchQuestion& question) {
  if (question.job.time_limit_s && !(*question.job.time_limit_s > 0)) {
    throw Error("plan: --time-limit: expected seconds above 0");
  }
  take_model(question);
  take_gpus(question.job);
  size_cluster(question.job);
  if (!question.launch.any()) return std::nullopt;
  return launched_plan(question.launch.settings(), question.job);
}

/// The options by which `simulate` means the job of `question`: " --network llama3-8b --cluster h100-1x8".
std::string named_job(const PlanSearchQuestion& question) {
  std::string text;
  const auto add = [&text](const char* option, const std::string& value) {
    if (!value.empty()) text += std::string(" ") + option + " " + shell_word(value);
  };
  const PlanSearchArguments& job = question.job;
  add("--job", question.launch.file);
  for (const std::string& set : question.launch.set) add("--job-set", set);
  add("--job-args", question.launch.arguments);
  add("--network", job.network);
  add("--cluster", job.cluster);
  if (job.sequence) add("--sequence", std::to_string(*job.sequence));
  add("--precision", job.precision);
  add("--rates", job.rates);
  if (job.power) add("--power", digits_of(*job.power));
  add("--memory-limit", job.memory_limit);
  return text;
}

}  // namespace

void PlanSearchQuestion::add_to(OptionTable& table, const FileOptions& outputs) {
  table.positionals(model, 0, "MODEL|LAUNCH_FILE,model");
  job.add_to(table);
  launch.add_to(table, "from");
  if (outputs) outputs();
  table.flag("explain", explain, "show which resource limits the plan: improve each one in turn and simulate again")
      .flag("front", front, "also find the fastest plan for every smaller number of devices")
      .flag("guide", guide, "print the settings for Megatron-LM and PyTorch (always with --runtime)");
}

PreparedPlanSearch::PreparedPlanSearch(PlanSearchQuestion question)
    : asked_(std::move(question)), launched_(launched_of(asked_)), question_(plan_question(asked_.job)) {
  question_.named = named_job(asked_);
  if (launched_) question_.said = launched_->said;
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

void PreparedPlanSearch::search(const PlanSearchWatch& watch, const ProcessShare& share) {
  const double kept = (asked_.front ? kFrontShare : 0) + (asked_.explain ? kSensitivityShare : 0);
  answer_ = search_all(watch, share, 1 - kept);
  if (asked_.front) {
    PlanEffort fewer = effort_of(asked_.job, watch, "plan: fewer devices", kFrontShare);
    fewer.most_simulations = std::min(fewer.most_simulations, kFrontSimulations);
    const SharedTrials shared_too(share, fewer);
    answer_.front = search_front(question_.job, question_.ranges, fewer, answer_.front);
  }
  if (!asked_.job.planners.empty()) {
    answer_.planner_ns = planner_steps(planner_seeds(question_.job, question_.ranges, watch.stop), question_.job.price);
  }
  if (!answer_.best.empty()) best_ = simulate_plan(answer_.best.front().plan, question_.job.price);
}

std::string PreparedPlanSearch::text(const PlanFile& file) const {
  std::string text = verdict_text(plan_verdict(question_, best_->score));
  if (launched_) text += launched_plan_text(*launched_, *best_, plan_need(question_, best_->score)) + "\n";
  text += plan_answer_text(question_, answer_, *best_);
  if (asked_.guide || question_.runtime != nullptr) text += "\n" + plan_guide(question_, *best_, file);
  return text;
}

std::string PreparedPlanSearch::next(const PlanFile& file) const {
  return plan_next(question_, *best_, file, "plumbline plan" + all_options(asked_.given));
}

std::string PreparedPlanSearch::closest(const PlanSearchWatch& watch) const {
  if (!answer_.closest) return "";
  const PlanEffort effort = effort_of(asked_.job, watch, "plan: more devices", kDevicesShare);
  return closest_plan_text(question_, asked_.job, *answer_.closest) +
         enough_devices_text(asked_.job, question_, effort.stop);
}

std::string PreparedPlanSearch::sensitivities(const PlanSearchWatch& watch) const {
  if (!asked_.explain) return "";
  const PlanEffort effort = effort_of(asked_.job, watch, "plan: sensitivities", kSensitivityShare);
  return "\n" + sensitivities_text(plan_sensitivities(question_, *best_, effort), best_->score.step_ns);
}

void PlanSearchQuestion::add_parts(const Request& request, AnswerDocument& document) {
  PreparedPlanSearch prepared(*this);
  prepared.search({});
  if (request.wants("plan")) {
    document.add_json("plan", plan_answer_json(prepared.question(), prepared.found(), {}));
  }
  if (!prepared.best()) {
    document.status = ExitStatus::kNo;
    document.findings.push_back(nothing_fits_text(prepared.found()));
    return;
  }
  if (request.wants("text")) {
    document.add_text("text", prepared.text({}) + prepared.sensitivities({}) + prepared.next({}));
  }
  if (request.wants("document")) document.add_json("document", schedule_to_json(prepared.best()->schedule));
  if (request.wants("html")) document.add_text("html", plan_page(prepared.question(), prepared.found()));
}

}  // namespace plumb
