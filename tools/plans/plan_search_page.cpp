#include "tools/plans/plan_search_page.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "models/kernels/rates_text.hpp"
#include "sim/plan_search/placed_schedule.hpp"
#include "sim/simulate.hpp"
#include "tools/plans/plan_figures.hpp"
#include "tools/plans/plan_search_text.hpp"
#include "tools/reports/report_html.hpp"
#include "tools/tables/job_fit.hpp"
#include "tools/terminal/quantity_text.hpp"

namespace plumb {
namespace {

constexpr std::array<std::string_view, kIdleCauseCount> kCauseTexts{"filling the pipeline",
                                                                    "draining the pipeline",
                                                                    "waiting for other devices",
                                                                    "link latency",
                                                                    "link bandwidth",
                                                                    "links that are busy",
                                                                    "collectives and updates",
                                                                    "copies to and from other memory",
                                                                    "the runtime",
                                                                    "devices of which nothing is known"};

/// Mean over devices that do something, in nanoseconds of one update.
template <class Figure>
double mean(const Timeline& timeline, Figure figure) {
  double sum = 0;
  double devices = 0;
  for (const DeviceSummary& device : timeline.devices) {
    if (device.busy == 0) continue;
    sum += static_cast<double>(figure(device));
    ++devices;
  }
  const auto per_update = static_cast<double>(timeline.base.ticks_per_ns * std::max<std::int64_t>(1, timeline.updates));
  return devices > 0 ? sum / devices / per_update : 0;
}

}  // namespace

std::string why_slower(const Timeline& best, const Timeline& other) {
  std::vector<std::pair<double, std::string>> terms;
  const auto add = [&](auto figure, std::string_view what) {
    terms.emplace_back(mean(other, figure) - mean(best, figure), what);
  };
  add([](const DeviceSummary& device) { return device.useful; }, "computing");
  add([](const DeviceSummary& device) { return device.busy - device.useful; }, "recomputing");
  for (std::size_t cause = 0; cause < kIdleCauseCount; ++cause) {
    add([&](const DeviceSummary& device) { return device.idle_causes[cause]; }, kCauseTexts[cause]);
  }
  std::stable_sort(terms.begin(), terms.end(),
                   [](const auto& a, const auto& b) { return std::abs(a.first) > std::abs(b.first); });
  const double slower = static_cast<double>(to_ns(other.step_time, other.base) - to_ns(best.step_time, best.base));
  std::string text =
      time_text(std::llround(std::abs(slower))) + (slower < 0 ? " faster" : " slower") + "; per device on average";
  std::size_t shown = 0;
  for (const auto& [ns, what] : terms) {
    const auto whole = std::llround(ns);
    if (whole == 0 || std::abs(ns) < 0.02 * std::abs(slower) || shown == 4) continue;
    text += std::string(shown++ == 0 ? ": " : ", ") + (whole > 0 ? "+" : "-") + time_text(std::abs(whole)) + " " + what;
  }
  return text;
}

std::string plan_page(const PlanQuestion& question, const PlanAnswer& answer) {
  std::vector<Timeline> timelines;
  for (const ScoredPlan& score : answer.best) {
    const SimulatedPlan plan = simulate_plan(score.plan, question.job.price);
    const PlacedRun run = placed_run(shown_schedule(score.plan, plan.stages), plan.stages);
    Timeline timeline =
        simulate(lower(run.schedule, run.costs, &plan.stages.pipeline, run.lowering), {.transfers = run.transfers});
    fill_needs(question, score.plan, timeline);
    timeline.schedule = plan.schedule.name;
    timeline.machine = question.network.name + " on " + question.cluster.name + ", layers " +
                       to_string(score.plan.partition) + "; " + rates_text(question.used_rates());
    timelines.push_back(std::move(timeline));
  }
  HtmlReport report{.title = "Plan of " + question.network.name + " on " + question.cluster.name};
  report.note =
      "The best " + std::to_string(timelines.size()) + " plans of different kinds, of " +
      std::to_string(answer.simulated) + " simulated. The first one is " +
      (answer.exhausted      ? "proved optimal."
       : answer.unpriced > 0 ? "not proved optimal: the limit cut the search short."
                             : "not proved optimal: at most " + percent_text(answer.gap()) + " less is possible.");
  for (std::size_t at = 0; at < timelines.size(); ++at) {
    HtmlSection section{.title = std::to_string(at + 1) + ". " + plan_line(answer.best[at].plan)};
    section.note = need_text(plan_need(question, answer.best[at])) + "; " + cost_line(question, answer.best[at]);
    const std::string stale = staleness_line(question, answer.best[at].plan);
    if (!stale.empty())
      section.note += "; step " + time_text(answer.best[at].step_ns) + " in the steady state, " + stale;
    if (at > 0) section.note += "; " + why_slower(timelines[0], timelines[at]);
    section.first = &timelines[at];
    report.sections.push_back(std::move(section));
  }
  return html_report(report);
}

}  // namespace plumb
