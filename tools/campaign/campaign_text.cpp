#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "sim/campaign/bamboo_means.hpp"
#include "sim/campaign/campaign.hpp"
#include "tools/campaign/campaign_answer.hpp"
#include "tools/campaign/campaign_tables.hpp"
#include "tools/reports/plot_page.hpp"
#include "tools/reports/plot_svg.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"

namespace plumb {
namespace {

/// "24.7", or "24.7 ± 0.2" over several runs.
std::string with_error(const CampaignOutcome& outcome, double (*figure)(const CampaignResult&)) {
  const std::string mean = number_text(outcome.mean(figure));
  if (outcome.runs.size() == 1) return mean;
  return mean + " ± " + number_text(standard_error(outcome, figure), 2);
}

double money_of(const CampaignResult& run) { return run.cost; }
double value_of(const CampaignResult& run) { return run.samples_per_cost(); }
double rate_of(const CampaignResult& run) { return run.samples_per_s(); }

/// Why the samples of a rule are not those of the others; empty where they are.
std::string_view change_of_job(const std::string& rule) { return campaign_rule_named(rule).changes_job; }

/// Nothing where samples are less work: beside those of the other rules they would mislead.
std::string goodput_text(const CampaignOutcome& outcome) {
  if (!change_of_job(outcome.rule).empty()) return "-";
  return percent_text(outcome.mean([](const CampaignResult& run) { return run.goodput(); }));
}

/// Pipelines x stages that it trained in for most of the time.
std::string layout_text(const CampaignOutcome& outcome) {
  std::map<JobLayout, std::int64_t> times;
  for (const CampaignResult& run : outcome.runs) {
    for (const CampaignPhase& phase : run.phases) {
      const bool trains = phase.use == TimeUse::kTraining || phase.use == TimeUse::kSlowed;
      if (trains) times[phase.layout] += phase.end_ns - phase.start_ns;
    }
  }
  if (times.empty()) return "-";
  const auto most = std::ranges::max_element(times, {}, [](const auto& entry) { return entry.second; });
  return std::to_string(most->first.pipelines) + " x " + std::to_string(most->first.stages);
}

/// Of one run of Bamboo alone: what its released program would print of it.
std::string bamboo_text(const CampaignAnswer& answer) {
  if (answer.outcomes.size() != 1 || answer.outcomes.front().rule != "bamboo") return "";
  if (answer.outcomes.front().runs.size() != 1) return "";
  const BambooMeans means = bamboo_means(answer.outcomes.front().runs.front());
  std::string text = "\nuntil the last step, as Bamboo's program counts: " + number_text(means.nodes, 5) + " nodes, " +
                     number_text(means.samples_per_s, 5) + " samples/s";
  if (answer.price_per_node_hour > 0) {
    text += ", " + number_text(means.cost_per_hour, 5) + " an hour, " + number_text(means.samples_per_s_per_cost, 5) +
            " samples/s per cost of an hour";
  }
  return text + "\n";
}

}  // namespace

std::string table_text(const CampaignTable& table) {
  std::vector<TextTable::Column> columns;
  for (const std::string& title : table.head) columns.push_back({title, columns.empty() ? '<' : '>'});
  TextTable text(columns);
  for (const std::vector<std::string>& row : table.rows) text.add_row(row);
  return text.to_string();
}

std::string changed_jobs_text(const CampaignAnswer& answer) {
  std::string text;
  for (const CampaignOutcome& outcome : answer.outcomes) {
    const std::string_view why = change_of_job(outcome.rule);
    if (why.empty()) continue;
    text += "\n" + outcome.rule + ": " + std::string(why) + "; its samples are not those of the other rules\n";
    const double frozen = outcome.mean([](const CampaignResult& run) { return run.frozen_layers; });
    if (frozen > 0) text += "layers that are frozen in the end: " + number_text(frozen) + "\n";
  }
  return text;
}

double standard_error(const CampaignOutcome& outcome, double (*figure)(const CampaignResult&)) {
  const auto count = static_cast<double>(outcome.runs.size());
  if (count < 2) return 0;
  const double mean = outcome.mean(figure);
  double squares = 0;
  for (const CampaignResult& run : outcome.runs) squares += (figure(run) - mean) * (figure(run) - mean);
  return std::sqrt(squares / (count - 1) / count);
}

CampaignTable campaign_figures(const CampaignAnswer& answer) {
  const bool priced = answer.price_per_node_hour > 0;
  CampaignTable table{.head = {"rule", "samples", "samples/s", "goodput", "losses", "fatal", "recoveries", "layout"},
                      .rows = {}};
  if (priced) {
    table.head.emplace_back("cost");
    table.head.emplace_back("samples per cost");
  }
  for (const CampaignOutcome& outcome : answer.outcomes) {
    std::vector<std::string> row{outcome.rule,
                                 number_text(outcome.mean([](const CampaignResult& run) { return run.samples; }), 6),
                                 with_error(outcome, rate_of), goodput_text(outcome)};
    row.push_back(number_text(outcome.mean([](const CampaignResult& run) { return run.removals; })));
    row.push_back(number_text(outcome.mean([](const CampaignResult& run) { return run.fatal; })));
    row.push_back(number_text(outcome.mean([](const CampaignResult& run) { return run.recoveries; })));
    row.push_back(layout_text(outcome));
    if (priced) {
      row.push_back(number_text(outcome.mean(money_of)));
      row.push_back(with_error(outcome, value_of));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

CampaignTable campaign_times(const CampaignAnswer& answer) {
  CampaignTable table{.head = {"rule"}, .rows = {}};
  for (const std::string_view use : kTimeUseNames) table.head.emplace_back(use);
  for (const CampaignOutcome& outcome : answer.outcomes) {
    std::vector<std::string> row{outcome.rule};
    for (std::size_t use = 0; use < kTimeUseNames.size(); ++use) {
      row.push_back(share_text(outcome.mean([use](const CampaignResult& run) {
        return static_cast<double>(run.time_ns[use]) / static_cast<double>(run.until_ns);
      })));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string campaign_nodes(const CampaignAnswer& answer) {
  std::string text = answer.nodes + ": " + number_text(answer.mean_nodes, 3) + " nodes on average, " +
                     number_text(answer.hours) + " h";
  if (answer.price_per_node_hour > 0) text += ", " + number_text(answer.price_per_node_hour) + " per node and hour";
  const std::size_t runs = answer.outcomes.front().runs.size();
  if (runs > 1) text += ", means of " + std::to_string(runs) + " runs ± standard error";
  return text;
}

std::string campaign_text(const CampaignAnswer& answer) {
  return answer.job + "\n" + campaign_nodes(answer) + "\n\n" + table_text(campaign_figures(answer)) +
         changed_jobs_text(answer) + bamboo_text(answer) + "\nwhere the time went:\n" +
         table_text(campaign_times(answer));
}

namespace {

/// What answers are ranked by.
double worth_of(const CampaignAnswer& answer, const std::string& rule) {
  const auto outcome = std::ranges::find(answer.outcomes, rule, &CampaignOutcome::rule);
  const bool priced = answer.price_per_node_hour > 0;
  return outcome->mean(
      [priced](const CampaignResult& run) { return priced ? run.samples_per_cost() : run.samples_per_s(); });
}

std::string worth_name(const CampaignSweep& sweep) {
  return sweep.answers.front().price_per_node_hour > 0 ? "samples per cost" : "samples per second";
}

CampaignTable sweep_table(const CampaignSweep& sweep) {
  CampaignTable table{.head = {"rule"}, .rows = {}};
  for (const double value : sweep.values) table.head.push_back(number_text(value) + sweep.unit);
  for (const CampaignOutcome& outcome : sweep.answers.front().outcomes) {
    std::vector<std::string> row{outcome.rule};
    for (const CampaignAnswer& answer : sweep.answers) row.push_back(number_text(worth_of(answer, outcome.rule)));
    table.rows.push_back(std::move(row));
  }
  std::vector<std::string> best{"best"};
  for (const CampaignAnswer& answer : sweep.answers) best.push_back(answer.outcomes.front().rule);
  table.rows.push_back(std::move(best));
  return table;
}

/// A line for every rule. Values that are doubled from one to the next are as far apart as any other two.
Plot sweep_plot(const CampaignSweep& sweep) {
  const bool logarithmic = sweep.values.front() > 0 && sweep.values.back() >= 4 * sweep.values.front();
  Plot plot{.title = "What every rule gets, by " + sweep.meaning,
            .note = sweep.answers.front().job,
            .x = {.title = sweep.values_are.empty() ? sweep.meaning : sweep.values_are},
            .y = {.title = worth_name(sweep)},
            .series = {},
            .marks = {}};
  plot.x.logarithmic = logarithmic;
  std::size_t colour = 0;
  for (const CampaignOutcome& outcome : sweep.answers.front().outcomes) {
    PlotSeries line{.name = outcome.rule, .x = sweep.values, .y = {}, .colour = colour++, .points = true};
    for (const CampaignAnswer& answer : sweep.answers) line.y.push_back(worth_of(answer, outcome.rule));
    plot.series.push_back(std::move(line));
  }
  return plot;
}

}  // namespace

std::string campaign_text(const CampaignSweep& sweep) {
  const std::string what = sweep.values_are.empty() ? "" : " (" + sweep.values_are + ")";
  return sweep.answers.front().job + "\n" + worth_name(sweep) + ", by " + sweep.meaning + what + ":\n\n" +
         table_text(sweep_table(sweep)) + changed_jobs_text(sweep.answers.front());
}

std::string campaign_svg(const CampaignSweep& sweep) { return svg_plot(sweep_plot(sweep)); }

std::string campaign_page(const CampaignSweep& sweep) {
  const CampaignTable table = sweep_table(sweep);
  PlotPage page{.title = "campaign", .note = sweep.answers.front().job, .cards = {}};
  page.cards.push_back({.title = "What every rule gets, by " + sweep.meaning,
                        .note = "",
                        .choices = {{.name = "all",
                                     .plot = sweep_plot(sweep),
                                     .table = PlotTable{.head = table.head, .rows = table.rows}}},
                        .choice_label = ""});
  return html_plots(page);
}

}  // namespace plumb
