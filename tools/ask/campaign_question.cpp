#include "tools/ask/campaign_question.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "models/ground/error.hpp"
#include "models/ground/presets.hpp"
#include "models/ground/text_file.hpp"
#include "sim/campaign/campaign_rule.hpp"
#include "tools/ask/simulated_layouts.hpp"
#include "tools/options/parse_range.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

constexpr double kHour = 3.6e12;  ///< nanoseconds
constexpr double kMostHours = 100'000;
constexpr double kMostPlayedLosses = 4e6;
constexpr double kMostPlayedSteps = 2e9;

const Preset* preset_of(std::span<const Preset> presets, std::string_view name) {
  const auto found = std::ranges::find(presets, name, &Preset::name);
  return found == presets.end() ? nullptr : &*found;
}

std::vector<std::string_view> preset_words(std::span<const Preset> presets) {
  std::vector<std::string_view> names;
  for (const Preset& preset : presets) names.push_back(preset.name);
  return names;
}

std::vector<std::string_view> rule_words() {
  std::vector<std::string_view> names{"all"};
  for (const CampaignRuleSpec& rule : campaign_rules()) names.push_back(rule.name);
  return names;
}

/// Throws for a name that is neither built in nor a file.
std::string text_of_file(const std::string& name, std::string_view what, std::span<const Preset> presets) {
  if (is_document_path(name) || file_exists(name)) return read_text_file(name);
  throw_unknown(what, name, preset_words(presets));
}

std::int64_t last_of(const NodeTrace& trace) { return trace.events.empty() ? 0 : trace.events.back().at_ns; }

/// Options of one rule: those without a rule's name, where it knows them, and its own.
std::map<std::string, std::string> options_of(const CampaignRuleSpec& rule, const std::vector<std::string>& given) {
  std::map<std::string, std::string> options;
  for (const std::string& text : given) {
    const auto [key, value] = parse_assignment(text, "--rule-opt");
    const std::size_t dot = key.find('.');
    const std::string name = dot == std::string::npos ? key : key.substr(dot + 1);
    if (dot != std::string::npos && key.substr(0, dot) != rule.name) continue;
    const bool knows = ("\n" + std::string(rule.options)).find("\n" + name + "=") != std::string::npos;
    if (dot == std::string::npos && !knows) continue;
    options[name] = value;
  }
  return options;
}

std::vector<CampaignRuleSpec> chosen_rules(const std::string& names) {
  std::vector<CampaignRuleSpec> all = campaign_rules();
  if (names.empty() || names == "all") {
    std::erase_if(all, [](const CampaignRuleSpec& rule) { return rule.changes_job; });
    return all;
  }
  std::vector<std::string_view> known;
  for (const CampaignRuleSpec& rule : all) known.push_back(rule.name);
  std::vector<CampaignRuleSpec> chosen;
  for (const std::string& name : split(names, ',')) {
    const auto found = std::ranges::find(all, name, &CampaignRuleSpec::name);
    if (found == all.end()) throw_unknown("rule", name, known);
    chosen.push_back(*found);
  }
  return chosen;
}

/// Throws for an option that no chosen rule has.
void check_option_names(const std::vector<CampaignRuleSpec>& rules, const std::vector<std::string>& given) {
  std::vector<std::string> names;
  for (const CampaignRuleSpec& rule : rules) {
    for (const std::string& line : split(rule.options, '\n')) {
      const std::string name = line.substr(0, line.find('='));
      names.push_back(name);
      names.push_back(std::string(rule.name) + "." + name);
    }
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  for (const std::string& text : given) {
    const std::string key = parse_assignment(text, "--rule-opt").first;
    if (std::ranges::find(names, key) == names.end()) throw_unknown("option of a rule", key, known);
  }
}

std::string rules_help() {
  std::string text = "rules with commas, or all (the default; not those that change the job):";
  for (const CampaignRuleSpec& rule : campaign_rules()) {
    text += " " + std::string(rule.name) + " (" + std::string(rule.changes_job ? "changes the job: " : "") +
            std::string(rule.summary) + ");";
  }
  text.back() = '.';
  return text;
}

std::string rule_options_help() {
  std::string text = "an option of all rules that have it, or of one as RULE.KEY=VALUE.";
  for (const CampaignRuleSpec& rule : campaign_rules()) {
    text += " " + std::string(rule.name) + ":";
    for (const std::string& line : split(rule.options, '\n')) text += " " + line + ",";
    text.back() = ';';
  }
  text.back() = '.';
  return text;
}

std::string preset_names(std::span<const Preset> presets) {
  std::string names;
  for (const Preset& preset : presets) names += (names.empty() ? "" : ", ") + std::string(preset.name);
  return names;
}

}  // namespace

NodeTrace load_node_trace(const std::string& name_or_file) {
  if (const Preset* preset = preset_of(trace_presets(), name_or_file)) {
    return node_trace_from_text(std::string(preset->json), name_or_file + ".csv");
  }
  return node_trace_from_text(text_of_file(name_or_file, "trace", trace_presets()), name_or_file);
}

std::map<JobLayout, LayoutTable::Row> load_layouts(const std::string& name_or_file) {
  if (const Preset* preset = preset_of(layout_presets(), name_or_file)) {
    return layouts_from_json(std::string(preset->json), name_or_file + ".json");
  }
  return layouts_from_json(text_of_file(name_or_file, "table of layouts", layout_presets()), name_or_file);
}

void CampaignQuestion::add_to(OptionTable& options) {
  options.positionals(names, 0, "NAME|FILE,schedule");
  options.group("Nodes")
      .text("trace", trace, "NAME|FILE",
            "when nodes came and went: lines milliseconds,add|remove,node, or SkyPilot's JSON, or " +
                preset_names(trace_presets()))
      .words(preset_words(trace_presets()))
      .text("mtbf", mtbf, "X|RANGE",
            "mean hours until a node fails; another one takes its place. Several, as 2,6,24 or 2..32 (doubled from one "
            "to "
            "the next): a table of all rules")
      .text("market", market, "TAKEN,GIVEN",
            "probabilities by the hour that a node is taken, and that a missing one is given")
      .whole("nodes", nodes, {.least = 1, .most = 10'000}, "with --mtbf and --market: how many there are at first")
      .real("hours", hours, {.least = 1e-3, .most = kMostHours}, "length (default: of the trace, or 24)")
      .real("ready", ready_seconds, {.least = 0, .most = 1e6},
            "seconds from a node's coming to its being ready (default 45)")
      .real("interval", interval_seconds, {.least = 1, .most = 1e6},
            "take the trace as Parcae's program does: in intervals of so many seconds")
      .whole("seed", seed, {.least = 0}, "of the nodes (default 1)")
      .whole("runs", runs, {.least = 1, .most = 10'000},
             "with --mtbf and --market: seeds, one after another (default 1)")
      .real("price", price, {.least = 0, .most = 1e9}, "of a node and hour, in any money");
  options.group("Rules")
      .text("rules", rules, "NAMES", rules_help())
      .words(rule_words())
      .texts("rule-opt", rule_options, "KEY=VALUE", rule_options_help());
  options.group("Layouts")
      .text("layouts", layouts, "NAME|FILE",
            "measured steps instead of a schedule, a document plumbline-layouts, or " + preset_names(layout_presets()))
      .words(preset_words(layout_presets()))
      .text("stages", lengths, "RANGE", "lengths of pipelines that are tried (default: all)")
      .whole("microbatches,m", size.microbatches, {.least = 1, .most = 1'000'000},
             "microbatches of a step, all pipelines together")
      .whole("chunks,v", size.chunks, {.least = 1, .most = 1'000}, "stages per device, where the schedule has several")
      .texts("opt", size.options, "KEY=VALUE", "an option of the schedule");
  costs.add_to(options);
  simulation.add_messages_to(options);
}

NodeTrace CampaignQuestion::nodes_of(std::uint64_t seed_of_run, std::int64_t until_ns) const {
  const auto count = static_cast<std::int32_t>(nodes.value_or(1));
  const double node_hours = static_cast<double>(count) * static_cast<double>(until_ns) / kHour;
  const double losses = node_hours / mtbf_hours.value_or(1);
  if (losses > kMostPlayedLosses) {
    throw Error("campaign: so many nodes and hours have about " + count_text(std::llround(losses)) +
                " events, expected at most " + count_text(std::llround(kMostPlayedLosses)));
  }
  if (mtbf_hours) {
    return random_failures({.nodes = count,
                            .mean_ns = std::llround(std::min(*mtbf_hours * kHour, 9e18)),
                            .ready_ns = std::llround(ready_seconds.value_or(45) * 1e9),
                            .until_ns = until_ns,
                            .seed = seed_of_run});
  }
  const std::vector<std::string> parts = split(market, ',');
  if (parts.size() != 2) throw Error("--market: '" + market + "', expected two probabilities, such as 0.25,0.5");
  const RealRange share{.least = 0, .most = 1};
  return random_market({.nodes = count,
                        .taken = parse_real(parts[0], "--market", share),
                        .given = parse_real(parts[1], "--market", share),
                        .until_ns = until_ns,
                        .seed = seed_of_run});
}

std::vector<CampaignProblem> CampaignQuestion::problems() const {
  const int sources =
      static_cast<int>(!trace.empty()) + static_cast<int>(mtbf_hours.has_value()) + static_cast<int>(!market.empty());
  if (sources != 1) throw Error("campaign: expected one of --trace, --mtbf and --market: when nodes come and go");
  if (trace.empty() && !nodes) throw Error("campaign: --nodes is missing, expected how many there are");
  if (!trace.empty() && (runs || nodes))
    throw Error("campaign: a trace has its own nodes, expected no --runs and --nodes");
  CampaignProblem problem{.trace = {},
                          .until_ns = std::llround(hours.value_or(24) * kHour),
                          .ready_ns = std::llround(ready_seconds.value_or(45) * 1e9),
                          .price_per_node_hour = price.value_or(0)};
  if (!trace.empty()) {
    problem.trace = load_node_trace(trace);
    std::int64_t end = last_of(problem.trace);
    if (interval_seconds) problem.trace = in_intervals(problem.trace, std::llround(*interval_seconds * 1e9), end);
    if (!hours) problem.until_ns = end;
    if (problem.until_ns <= 0) throw Error(trace + ": all nodes come at once and stay; expected --hours");
    return {problem};
  }
  std::vector<CampaignProblem> all;
  for (std::int64_t run = 0; run < runs.value_or(1); ++run) {
    problem.trace = nodes_of(static_cast<std::uint64_t>(seed.value_or(1) + run), problem.until_ns);
    problem.keep_phases = run == 0;
    all.push_back(problem);
  }
  return all;
}

std::unique_ptr<LayoutSource> CampaignQuestion::source_of(std::int32_t most_nodes) const {
  if (names.size() > 1) throw Error("campaign: '" + names[1] + "' is one argument too many, expected one schedule");
  if (names.empty() == layouts.empty()) {
    throw Error("campaign: expected a schedule, or --layouts with the measured steps of a job, and not both");
  }
  if (names.empty()) return std::make_unique<LayoutTable>(load_layouts(layouts));
  if (!size.microbatches) throw Error("campaign: -m is missing, expected the microbatches of a step");
  if (costs.job.degrees.data) throw Error("campaign: --dp: the layouts have it, expected none");
  LaidOutJob job{.schedule = names.front(), .size = size, .costs = costs, .simulation = simulation};
  job.microbatches = *size.microbatches;
  job.most_nodes = most_nodes;
  if (!lengths.empty()) {
    for (const std::int64_t length : parse_range(lengths, "--stages", {.least = 1, .most = 10'000})) {
      job.lengths.push_back(static_cast<std::int32_t>(length));
    }
  }
  return std::make_unique<SimulatedLayouts>(std::move(job));
}

void CampaignQuestion::set_options(CampaignProblem& problem, const CampaignRuleSpec& rule) const {
  problem.options = options_of(rule, rule_options);
  const bool saves = rule.options.starts_with("every=") && rule.options.find("\nsave=") != std::string_view::npos;
  if (!mtbf_hours || !saves || problem.options.contains("every")) return;
  const double save = rule_number(problem, "save", 30);
  const double between = *mtbf_hours * 3600 / static_cast<double>(*nodes);
  problem.options["every"] = number_text(std::max(1.0, std::sqrt(2 * save * between)), 6);
}

std::vector<double> CampaignQuestion::failure_times() const {
  if (mtbf_hours) return {*mtbf_hours};
  constexpr RealRange kHours{.least = 1e-3, .most = 1e9};
  std::vector<double> times;
  const std::size_t dots = mtbf.find("..");
  if (dots != std::string::npos) {
    const double last = parse_real(mtbf.substr(dots + 2), "--mtbf", kHours);
    for (double next = parse_real(mtbf.substr(0, dots), "--mtbf", kHours); next <= last; next *= 2)
      times.push_back(next);
    if (times.empty()) throw Error("--mtbf: '" + mtbf + "', expected the smaller number first");
    return times;
  }
  for (const std::string& one : split(mtbf, ',')) times.push_back(parse_real(one, "--mtbf", kHours));
  std::ranges::sort(times);
  return times;
}

std::vector<CampaignAnswer> CampaignQuestion::answers() const {
  std::vector<CampaignAnswer> all;
  for (const double hours_between : failure_times()) {
    CampaignQuestion one = *this;
    one.mtbf_hours = hours_between;
    all.push_back(one.answer());
  }
  return all;
}

CampaignAnswer CampaignQuestion::answer() const {
  if (!mtbf_hours && !mtbf.empty()) {
    std::vector<CampaignAnswer> all = answers();
    if (all.size() > 1) throw Error("campaign: --mtbf names " + std::to_string(all.size()) + " times; expected one");
    return std::move(all.front());
  }
  const std::vector<CampaignRuleSpec> chosen = chosen_rules(rules);
  check_option_names(chosen, rule_options);
  std::vector<CampaignProblem> all = problems();
  std::int32_t most = 0;
  for (const CampaignProblem& problem : all) most = std::max(most, most_nodes_of(problem.trace));
  const std::unique_ptr<LayoutSource> source = source_of(most);
  LayoutBook book(*source);
  if (!book.best(most)) {
    throw Error("campaign: the job runs in no layout of " + std::to_string(most) + " nodes" +
                (source->refusal().empty() ? "" : ": " + source->refusal()));
  }
  CampaignAnswer answer{
      .job = job_text(), .nodes = nodes_text(), .price_per_node_hour = price.value_or(0), .outcomes = {}};
  for (const CampaignRuleSpec& rule : chosen) {
    CampaignOutcome outcome{.rule = std::string(rule.name), .runs = {}};
    for (CampaignProblem& problem : all) {
      set_options(problem, rule);
      outcome.runs.push_back(run_campaign(problem, rule.name, book));
    }
    answer.outcomes.push_back(std::move(outcome));
  }
  const bool priced = answer.price_per_node_hour > 0;
  const auto worth = [priced](const CampaignOutcome& outcome) {
    return outcome.mean([priced](const CampaignResult& run) { return priced ? run.samples_per_cost() : run.samples; });
  };
  std::ranges::stable_sort(answer.outcomes, std::greater<>(), worth);
  answer.hours = static_cast<double>(all.front().until_ns) / kHour;
  answer.mean_nodes =
      answer.outcomes.front().mean([](const CampaignResult& run) { return run.node_hours / run.hours(); });
  return answer;
}

std::string CampaignQuestion::job_text() const {
  if (names.empty()) return "steps of " + layouts;
  const std::string cluster = costs.cluster.empty() ? "" : " on " + costs.cluster;
  return names.front() + " of " + costs.network + cluster + ", " + std::to_string(*size.microbatches) +
         " microbatches a step";
}

std::string CampaignQuestion::nodes_text() const {
  if (!trace.empty()) return "trace " + trace;
  const std::string count = std::to_string(*nodes) + " nodes";
  if (!mtbf_hours) return count + " of a market that takes and gives " + market;
  return count + " that fail after " + number_text(*mtbf_hours) + " h on average";
}

}  // namespace plumb
