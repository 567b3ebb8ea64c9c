#include <array>
#include <cstdint>

#include "tools/campaign/campaign_answer.hpp"
#include "tools/campaign/campaign_tables.hpp"
#include "tools/reports/plot_page.hpp"
#include "tools/reports/plot_svg.hpp"

namespace plumb {
namespace {

double hours_of(std::int64_t ns) { return static_cast<double>(ns) / 3.6e12; }

/// Colours of the uses of time, into kPlotColours.
constexpr std::array<std::size_t, kTimeUseNames.size()> kUseColours{2, 1, 3, 4, 5, 7};

/// A line of steps: it keeps a value up to right before the next one.
class StepLine {
 public:
  StepLine(PlotSeries& series, std::int64_t until_ns) : series_(series), before_(hours_of(until_ns) * 1e-6) {}

  void step(std::int64_t at_ns, double value) {
    const double at = hours_of(at_ns);
    if (!series_.x.empty() && at - before_ > series_.x.back()) add(at - before_, series_.y.back());
    if (!series_.x.empty() && series_.x.back() >= at) {
      series_.y.back() = value;
    } else {
      add(at, value);
    }
  }

 private:
  void add(double x, double y) {
    series_.x.push_back(x);
    series_.y.push_back(y);
  }

  PlotSeries& series_;
  double before_;
};

/// The nodes that were there.
PlotSeries nodes_line(const CampaignResult& run) {
  PlotSeries line{.name = "nodes there", .x = {}, .y = {}, .colour = 0};
  StepLine steps(line, run.until_ns);
  steps.step(0, 0);
  for (const NodeCount& count : run.nodes) steps.step(count.at_ns, count.nodes);
  steps.step(run.until_ns, run.nodes.empty() ? 0 : run.nodes.back().nodes);
  return line;
}

/// Nodes of the layout while time had this use, 0 otherwise; standing still is drawn as high as the layout before it.
PlotSeries use_area(const CampaignResult& run, TimeUse use) {
  const auto place = static_cast<std::size_t>(use);
  PlotSeries area{.name = std::string(kTimeUseNames[place]), .x = {}, .y = {}, .colour = kUseColours[place]};
  area.region = true;
  StepLine steps(area, run.until_ns);
  steps.step(0, 0);
  double last_nodes = 1;
  bool any = false;
  for (const CampaignPhase& phase : run.phases) {
    const double nodes = phase.layout.nodes() > 0 ? phase.layout.nodes() : last_nodes;
    last_nodes = nodes;
    if (phase.use != use) continue;
    any = true;
    steps.step(phase.start_ns, nodes);
    steps.step(phase.end_ns, 0);
  }
  if (!any) return {};
  steps.step(run.until_ns, 0);
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

std::string campaign_svg(const CampaignAnswer& answer) {
  return svg_plot(campaign_plot(answer, answer.outcomes.front()));
}

std::string campaign_page(const CampaignAnswer& answer) {
  PlotPage page{.title = "campaign", .note = answer.job + "; " + campaign_nodes(answer), .cards = {}};
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
