#include <array>
#include <cmath>
#include <limits>

#include "tools/campaign/campaign_answer.hpp"
#include "tools/campaign/campaign_tables.hpp"
#include "tools/reports/plot_page.hpp"

namespace plumb {
namespace {

double hours_of(std::int64_t ns) { return static_cast<double>(ns) / 3.6e12; }

/// Colours of the uses of time, into kPlotColours.
constexpr std::array<std::size_t, kTimeUseNames.size()> kUseColours{2, 1, 3, 4, 5, 7};

/// The nodes that were there, as a line of steps.
PlotSeries nodes_line(const CampaignResult& run) {
  PlotSeries line{.name = "nodes there", .x = {}, .y = {}, .colour = 0};
  double before = 0;
  const auto add = [&](double x, double y) {
    line.x.push_back(x);
    line.y.push_back(y);
  };
  add(0, 0);
  for (const NodeCount& count : run.nodes) {
    add(hours_of(count.at_ns), before);
    before = count.nodes;
    add(hours_of(count.at_ns), before);
  }
  add(hours_of(run.until_ns), before);
  return line;
}

/// Nodes of the layout while time had this use; standing still is drawn as high as the layout before it.
PlotSeries use_area(const CampaignResult& run, TimeUse use) {
  const auto place = static_cast<std::size_t>(use);
  PlotSeries area{.name = std::string(kTimeUseNames[place]), .x = {}, .y = {}, .colour = kUseColours[place]};
  area.region = true;
  double last_nodes = 1;
  for (const CampaignPhase& phase : run.phases) {
    const double nodes = phase.layout.nodes() > 0 ? phase.layout.nodes() : last_nodes;
    last_nodes = nodes;
    if (phase.use != use) continue;
    const double from = hours_of(phase.start_ns);
    const double to = hours_of(phase.end_ns);
    if (!area.x.empty() && area.x.back() < from) {
      area.x.push_back(from);
      area.y.push_back(std::numeric_limits<double>::quiet_NaN());
    }
    for (const double x : {from, to}) {
      area.x.push_back(x);
      area.y.push_back(nodes);
    }
  }
  return area;
}

Plot campaign_plot(const CampaignAnswer& answer, const CampaignOutcome& outcome) {
  const CampaignResult& run = outcome.runs.front();
  Plot plot{.title = outcome.rule + ": nodes in the layout, and what their time went into",
            .note = answer.nodes,
            .x = {.title = "hours"},
            .y = {.title = "nodes"},
            .series = {nodes_line(run)},
            .marks = {}};
  for (std::size_t use = 0; use < kTimeUseNames.size(); ++use) {
    PlotSeries area = use_area(run, static_cast<TimeUse>(use));
    if (!area.x.empty()) plot.series.push_back(std::move(area));
  }
  return plot;
}

PlotTable page_table(const CampaignTable& table) { return {.head = table.head, .rows = table.rows}; }

}  // namespace

std::string campaign_page(const CampaignAnswer& answer) {
  PlotPage page{.title = "campaign", .note = campaign_heading(answer), .cards = {}};
  PlotCard pictures{.title = "Nodes, layouts and time",
                    .note =
                        "What lies below a line is the layout: its height is the nodes that work, its colour what "
                        "the time went into. The first run of every rule.",
                    .choices = {},
                    .choice_label = "rule"};
  for (const CampaignOutcome& outcome : answer.outcomes) {
    pictures.choices.push_back({.name = outcome.rule, .plot = campaign_plot(answer, outcome), .table = {}});
  }
  page.cards.push_back(std::move(pictures));
  page.cards.push_back({.title = "What the job got",
                        .note = "",
                        .choices = {{.name = "all", .plot = {}, .table = page_table(campaign_figures(answer))}},
                        .choice_label = ""});
  page.cards.push_back({.title = "Where the time went",
                        .note = "Shares add up to 100 %.",
                        .choices = {{.name = "all", .plot = {}, .table = page_table(campaign_times(answer))}},
                        .choice_label = ""});
  return html_plots(page);
}

}  // namespace plumb
