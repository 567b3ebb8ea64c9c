#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "models/ground/error.hpp"
#include "sim/campaign/bamboo_means.hpp"
#include "sim/prediction/predict.hpp"
#include "tools/ask/campaign_question.hpp"
#include "tools/ask/search_question.hpp"
#include "tools/ask/simulate_question.hpp"
#include "tools/claims/claims.hpp"
#include "tools/claims/expression.hpp"
#include "tools/claims/planner_command.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/options/option_table.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/results_folder.hpp"
#include "tools/terminal/words.hpp"
#include "tools/training/train_run.hpp"

namespace plumb {
namespace {

/// Times are in units of --cost: milliseconds.
double in_units(Ticks ticks, const Timeline& timeline) {
  return static_cast<double>(ticks) / static_cast<double>(timeline.base.ticks_per_ns) / 1e6;
}

template <class Figure>
double largest(const Timeline& timeline, Figure figure) {
  double most = 0;
  for (const DeviceSummary& device : timeline.devices) most = std::max(most, static_cast<double>(figure(device)));
  return most;
}

template <class Figure>
double smallest(const Timeline& timeline, Figure figure) {
  double least = std::numeric_limits<double>::infinity();
  for (const DeviceSummary& device : timeline.devices) least = std::min(least, static_cast<double>(figure(device)));
  return least;
}

struct Metric {
  std::string_view name;
  double (*of)(const Timeline&);
};

constexpr std::array<Metric, 12> kMetrics{{
    {"makespan", [](const Timeline& t) { return in_units(t.makespan, t); }},
    {"step_time", [](const Timeline& t) { return in_units(t.step_time, t); }},
    {"longest_device_span", [](const Timeline& t) { return in_units(t.longest_device_span, t); }},
    {"bubble_fraction", [](const Timeline& t) { return t.bubble_fraction; }},
    {"bubble_rate", [](const Timeline& t) { return t.bubble_rate; }},
    {"utilization", [](const Timeline& t) { return t.utilization; }},
    {"bubble_over_useful", [](const Timeline& t) { return t.bubble_fraction / (1 - t.bubble_fraction); }},
    {"most_idle",
     [](const Timeline& t) {
       return largest(t, [&](const DeviceSummary& device) { return in_units(device.idle, t); });
     }},
    {"span_idle",
     [](const Timeline& t) {
       return largest(t, [&](const DeviceSummary& d) { return in_units(d.last_end - d.first_start - d.busy, t); });
     }},
    {"peak_activations",
     [](const Timeline& t) { return largest(t, [](const DeviceSummary& d) { return d.peak_activations; }); }},
    {"least_peak_activations",
     [](const Timeline& t) { return smallest(t, [](const DeviceSummary& d) { return d.peak_activations; }); }},
    {"peak_memory_gib",
     [](const Timeline& t) {
       return largest(t, [](const DeviceSummary& d) { return d.peak_memory_bytes; }) / (1024.0 * 1024.0 * 1024.0);
     }},
}};

/// What the command `simulate` answers to these words.
PredictedJob predicted(const std::string& command) {
  SimulateQuestion question;
  OptionTable parser(SimulateQuestion::kUsage, "");
  question.add_to(parser);
  if (!parse_command_line(parser, words_after("simulate", command))) {
    throw Error("'" + command + "': expected no --help");
  }
  PreparedJob job(std::move(question));
  if (!job.violations().empty()) throw Error(job.name() + ": " + to_string(job.violations().front()));
  return job.predict({});
}

constexpr std::string_view kMostSent = "most_sent_gib";

/// What the device that sends the most to others sends, by messages.
double most_sent_gib(const std::string& command) {
  const Program program = program_of(predicted(command).run);
  std::vector<double> sent(static_cast<std::size_t>(program.num_devices), 0);
  for (std::uint32_t t = 0; t < program.transfers.size(); ++t) {
    const Transfer& transfer = program.transfers[t];
    if (program.is_move(t)) continue;
    sent[index(program.channels[transfer.channel].from)] += static_cast<double>(transfer.bytes);
  }
  return *std::ranges::max_element(sent) / (1024.0 * 1024.0 * 1024.0);
}

struct CampaignMetric {
  std::string_view name;
  double (*of)(const CampaignResult&);
};

constexpr std::array<CampaignMetric, 11> kCampaignMetrics{{
    {"campaign_steps", [](const CampaignResult& run) { return static_cast<double>(run.steps); }},
    {"campaign_fatal", [](const CampaignResult& run) { return static_cast<double>(run.fatal); }},
    {"campaign_recoveries", [](const CampaignResult& run) { return static_cast<double>(run.recoveries); }},
    {"campaign_frozen", [](const CampaignResult& run) { return static_cast<double>(run.frozen_layers); }},
    {"campaign_samples", [](const CampaignResult& run) { return run.samples; }},
    {"campaign_undisturbed", [](const CampaignResult& run) { return run.undisturbed; }},
    {"campaign_training",
     [](const CampaignResult& run) {
       return static_cast<double>(run.time_of(TimeUse::kTraining)) / static_cast<double>(run.until_ns);
     }},
    {"bamboo_nodes", [](const CampaignResult& run) { return bamboo_means(run).nodes; }},
    {"bamboo_rate", [](const CampaignResult& run) { return bamboo_means(run).samples_per_s; }},
    {"bamboo_cost", [](const CampaignResult& run) { return bamboo_means(run).cost_per_hour; }},
    {"bamboo_value", [](const CampaignResult& run) { return bamboo_means(run).samples_per_s_per_cost; }},
}};

/// The figure of the first rule of a campaign, the mean of its runs.
double campaign_metric(const std::string& command, const std::string& name) {
  CampaignQuestion question;
  OptionTable parser(CampaignQuestion::kUsage, "");
  question.add_to(parser);
  if (!parse_command_line(parser, words_after("campaign", command))) {
    throw Error("'" + command + "': expected no --help");
  }
  question.trace = path_of_results(question.trace);
  question.layouts = path_of_results(question.layouts);
  const CampaignAnswer answer = question.answer();
  for (const CampaignMetric& metric : kCampaignMetrics) {
    if (metric.name == name) return answer.outcomes.front().mean(metric.of);
  }
  throw_unknown("metric", name, claim_metrics());
}

struct SearchMetric {
  std::string_view name;
  double (*of)(const ScheduleSearchAnswer&);
};

double makespan_of_order(const SearchedOrder& order) { return in_units(order.timeline.makespan, order.timeline); }

/// The best of the orders that repeat.
double best_repeated(const ScheduleSearchAnswer& answer) {
  const auto found = std::ranges::find(answer.orders, OrderOrigin::kRepetend, &SearchedOrder::origin);
  if (found == answer.orders.end()) throw Error("search_repeated: no order repeats");
  return makespan_of_order(*found);
}

/// With the most microbatches that were tried, in the first family.
double smallest_period(const ScheduleSearchAnswer& answer) {
  if (answer.families.empty() || answer.families.front().periods.empty()) throw Error("search_period: nothing repeats");
  const SearchedPeriod& period = answer.families.front().periods.back();
  if (period.period != period.bound) throw Error("search_period: not proved, expected more --nodes");
  return in_units(period.period, answer.orders.front().timeline);
}

/// A makespan that is proved to be the smallest.
double proved_makespan(const ScheduleSearchAnswer& answer) {
  const SearchedOrder& best = answer.orders.front();
  if (best.timeline.makespan != best.bound) throw Error("search_proved: not proved, expected more --nodes");
  return makespan_of_order(best);
}

constexpr std::array<SearchMetric, 3> kSearchMetrics{
    {{"search_proved", proved_makespan}, {"search_repeated", best_repeated}, {"search_period", smallest_period}}};

double search_metric(const std::string& command, const std::string& name) {
  SearchQuestion question;
  OptionTable parser(SearchQuestion::kUsage, "");
  question.add_to(parser);
  if (!parse_command_line(parser, words_after("search", command))) throw Error("'" + command + "': expected no --help");
  const OrderSearchAnswer answer = question.answer();
  if (answer.found.orders.empty()) throw Error("'" + command + "': no order fits");
  for (const SearchMetric& metric : kSearchMetrics) {
    if (metric.name == name) return metric.of(answer.found);
  }
  throw_unknown("metric", name, claim_metrics());
}

constexpr std::string_view kSameWeights = "same_weights";
constexpr std::string_view kFinalLoss = "final_loss";
constexpr std::string_view kFinalAccuracy = "final_accuracy";

/// The figure `metric` of one run; of the weights there is none.
double figure_of(const TrainResult& result, const Claim& claim) {
  if (claim.metric == kFinalLoss) return result.losses.back();
  if (result.evaluations.empty())
    throw Error(claim.id + ": final_accuracy: never evaluated, expected --evaluate-every");
  return result.evaluations.back().accuracy;
}

/// What the claim's training came to.
double trained_metric(const Claim& claim) {
  const bool weights = claim.metric == kSameWeights;
  if (weights && claim.baseline.empty()) {
    throw Error(claim.id + ": same_weights: the same as what? expected a baseline");
  }
  const TrainResult result = train_as(claim.command);
  if (claim.baseline.empty()) return figure_of(result, claim);
  const TrainResult baseline = train_as(claim.baseline);
  return weights ? static_cast<double>(result.weights_hash == baseline.weights_hash)
                 : figure_of(result, claim) / figure_of(baseline, claim);
}

double metric_of(const std::string& command, const std::string& name) {
  if (command.starts_with("campaign ")) return campaign_metric(command, name);
  if (command.starts_with("search ")) return search_metric(command, name);
  if (command.starts_with("plan --jobs ")) return jobs_metric(command, name);
  if (command.starts_with("plan ")) return planner_metric(command, name);
  if (name == kMostSent) return most_sent_gib(command);
  const Timeline timeline = predicted(command).timeline;
  for (const Metric& metric : kMetrics) {
    if (metric.name == name) return metric.of(timeline);
  }
  throw_unknown("metric", name, claim_metrics());
}

/// A billionth: what doubles lose on the way.
double rounding(const Claim& claim) { return 1e-9 * std::max(1.0, std::abs(claim.expected)); }

bool agrees(const Claim& claim, double value) {
  if (claim.bound == ClaimBound::kAtLeast) return value >= claim.expected - rounding(claim);
  if (claim.bound == ClaimBound::kAtMost) return value <= claim.expected + rounding(claim);
  return std::abs(value - claim.expected) <= claim.tolerance + rounding(claim);
}

double ours(const Claim& claim) {
  if (claim.kind == ClaimKind::kTrained) return trained_metric(claim);
  const double value = metric_of(claim.command, claim.metric);
  return claim.baseline.empty() ? value : value / metric_of(claim.baseline, claim.metric);
}

}  // namespace

std::vector<std::string_view> claim_metrics() {
  std::vector<std::string_view> names;
  for (const Metric& metric : kMetrics) names.push_back(metric.name);
  names.push_back(kMostSent);
  for (const CampaignMetric& metric : kCampaignMetrics) names.push_back(metric.name);
  for (const SearchMetric& metric : kSearchMetrics) names.push_back(metric.name);
  for (const std::string_view name : planner_metrics()) names.push_back(name);
  for (const std::string_view name : jobs_metrics()) names.push_back(name);
  names.insert(names.end(), {kFinalLoss, kFinalAccuracy, kSameWeights});
  return names;
}

ClaimResult run_claim(const Claim& claim) {
  ClaimResult result;
  try {
    if (!claim.formula.empty()) result.formula = evaluate_expression(claim.formula, claim.id + ": formula");
    if (claim.kind == ClaimKind::kFormula) {
      result.agrees = agrees(claim, *result.formula);
      return result;
    }
    if (result.formula && !agrees(claim, *result.formula)) {
      throw Error(claim.id + ": formula: gives " + number_text(*result.formula, 6) + ", expected " +
                  number_text(claim.expected, 6));
    }
    result.ours = ours(claim);
    result.agrees = agrees(claim, *result.ours);
  } catch (const Error& error) {
    result.error = error.what();
  }
  return result;
}

}  // namespace plumb
