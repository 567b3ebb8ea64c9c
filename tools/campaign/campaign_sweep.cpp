#include <algorithm>

#include "tools/campaign/campaign_answer.hpp"
#include "tools/campaign/campaign_tables.hpp"
#include "tools/reports/plot_page.hpp"
#include "tools/reports/plot_svg.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"

namespace plumb {
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
