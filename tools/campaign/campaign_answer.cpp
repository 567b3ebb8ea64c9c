#include "tools/campaign/campaign_answer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "sim/campaign/bamboo_means.hpp"
#include "sim/campaign/campaign.hpp"
#include "tools/reports/plot_page.hpp"
#include "tools/reports/plot_svg.hpp"
#include "tools/terminal/answer_lines.hpp"
#include "tools/terminal/options_json.hpp"
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
  std::string text = "until the last step, as Bamboo's program counts: " + number_text(means.nodes, 5) + " nodes, " +
                     number_text(means.samples_per_s, 5) + " samples/s";
  if (answer.price_per_node_hour > 0) {
    text += ", " + number_text(means.cost_per_hour, 5) + " an hour, " + number_text(means.samples_per_s_per_cost, 5) +
            " samples/s per cost of an hour";
  }
  return "\n" + sentence_text(text);
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
    text +=
        "\n" + sentence_text(outcome.rule + ": " + std::string(why) + "; its samples are not those of the other rules");
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
  const CampaignOutcome& best = answer.outcomes.front();
  std::string verdict = "best rule: " + best.rule + ", " + with_error(best, rate_of) + " samples/s";
  if (answer.outcomes.size() > 1) {
    const CampaignOutcome& last = answer.outcomes.back();
    verdict += "; last: " + last.rule + ", " + with_error(last, rate_of);
  }
  return verdict_text(verdict) + sentence_text(answer.job) + sentence_text(campaign_nodes(answer)) + "\n" +
         table_text(campaign_figures(answer)) + changed_jobs_text(answer) + bamboo_text(answer) +
         "\nwhere the time went:\n" + table_text(campaign_times(answer)) + next_text("plumbline campaign --list");
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
  const std::string& first = sweep.answers.front().outcomes.front().rule;
  const bool always = std::ranges::all_of(
      sweep.answers, [&](const CampaignAnswer& answer) { return answer.outcomes.front().rule == first; });
  return verdict_text("best rule: " + first + (always ? " for every value" : " for the first value; others below")) +
         sentence_text(sweep.answers.front().job) +
         sentence_text(worth_name(sweep) + ", by " + sweep.meaning + what + ":") + "\n" +
         table_text(sweep_table(sweep)) + changed_jobs_text(sweep.answers.front()) +
         next_text("plumbline campaign --list");
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

namespace {

nlohmann::ordered_json run_json(const CampaignResult& run) {
  nlohmann::ordered_json times;
  for (std::size_t use = 0; use < kTimeUseNames.size(); ++use)
    times[std::string(kTimeUseNames[use])] = run.time_ns[use];
  nlohmann::ordered_json json{{"steps", run.steps},
                              {"samples", run.samples},
                              {"samples_per_s", run.samples_per_s()},
                              {"goodput", run.goodput()},
                              {"undisturbed_samples", run.undisturbed},
                              {"time_ns", times},
                              {"losses", run.removals},
                              {"fatal", run.fatal},
                              {"recoveries", run.recoveries},
                              {"node_hours", run.node_hours},
                              {"most_nodes", run.most_nodes},
                              {"cost", run.cost},
                              {"samples_per_cost", run.samples_per_cost()},
                              {"first_step_ns", run.first_step_ns},
                              {"last_step_ns", run.last_step_ns}};
  if (run.frozen_layers > 0) json["frozen_layers"] = run.frozen_layers;
  if (run.phases.empty()) return json;
  nlohmann::ordered_json phases = nlohmann::ordered_json::array();
  for (const CampaignPhase& phase : run.phases) {
    phases.push_back({{"start_ns", phase.start_ns},
                      {"end_ns", phase.end_ns},
                      {"use", kTimeUseNames[static_cast<std::size_t>(phase.use)]},
                      {"pipelines", phase.layout.pipelines},
                      {"stages", phase.layout.stages}});
  }
  json["phases"] = std::move(phases);
  return json;
}

nlohmann::ordered_json means_json(const BambooMeans& means) {
  return {{"nodes", means.nodes},
          {"cost_per_hour", means.cost_per_hour},
          {"samples_per_s", means.samples_per_s},
          {"samples_per_s_per_cost", means.samples_per_s_per_cost}};
}

nlohmann::ordered_json answer_json(const CampaignAnswer& answer) {
  nlohmann::ordered_json rules = nlohmann::ordered_json::array();
  for (const CampaignOutcome& outcome : answer.outcomes) {
    nlohmann::ordered_json runs = nlohmann::ordered_json::array();
    for (const CampaignResult& run : outcome.runs) {
      runs.push_back(run_json(run));
      if (outcome.rule == "bamboo") runs.back()["as_released"] = means_json(bamboo_means(run));
    }
    rules.push_back({{"rule", outcome.rule}, {"runs", std::move(runs)}});
  }
  return {{"format", "plumbline-campaign"},
          {"version", 1},
          {"job", answer.job},
          {"nodes", answer.nodes},
          {"hours", answer.hours},
          {"mean_nodes", answer.mean_nodes},
          {"price_per_node_hour", answer.price_per_node_hour},
          {"rules", std::move(rules)}};
}

}  // namespace

std::string campaign_json(const CampaignAnswer& answer) { return answer_json(answer).dump(1) + "\n"; }

std::string campaign_json(const CampaignSweep& sweep) {
  nlohmann::ordered_json points = nlohmann::ordered_json::array();
  for (std::size_t at = 0; at < sweep.values.size(); ++at) {
    points.push_back({{"value", sweep.values[at]}, {"campaign", answer_json(sweep.answers[at])}});
  }
  const nlohmann::ordered_json document{
      {"format", "plumbline-campaigns"}, {"version", 1}, {"option", sweep.option}, {"points", std::move(points)}};
  return document.dump(1) + "\n";
}

std::string campaign_rules_text() {
  std::string text;
  for (const CampaignRuleSpec& rule : campaign_rules()) {
    text += (text.empty() ? "" : "\n") + sentence_text(std::string(rule.name) + ": " + std::string(rule.summary));
    if (!rule.changes_job.empty()) text += lines_within_terminal("  changes the job: " + std::string(rule.changes_job));
    text += lines_within_terminal("  source: " + std::string(rule.source) + "\n" + options_text(rule.options));
  }
  return text;
}

std::string campaign_rules_json() {
  auto rows = nlohmann::ordered_json::array();
  for (const CampaignRuleSpec& rule : campaign_rules()) {
    rows.push_back({{"name", rule.name},
                    {"summary", rule.summary},
                    {"source", rule.source},
                    {"options", nlohmann::ordered_json::parse(options_json(rule.options))},
                    {"changes_job", rule.changes_job}});
  }
  return rows.dump(2) + "\n";
}

}  // namespace plumb
