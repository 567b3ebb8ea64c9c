#include "tools/ask/campaign_question.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include "models/ground/error.hpp"
#include "models/ground/presets.hpp"
#include "models/ground/text_file.hpp"
#include "models/jobs/job_costs.hpp"
#include "models/stages/network_costs.hpp"
#include "models/stages/whole_layers.hpp"
#include "sim/prediction/predict.hpp"
#include "tools/ask/answer.hpp"
#include "tools/ask/request.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/options/parse_range.hpp"
#include "tools/options/run_options.hpp"
#include "tools/tables/job_fit.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

/// The cut that is balanced with what frozen layers take in the first stage.
LayerCut cut_behind(Ticks frozen_forward, const AnalyticJob& job, std::int32_t stages) {
  std::vector<std::int64_t> times = *job.book->layer_times(job.parallelism);
  times.front() += frozen_forward;
  return cut_as(balanced_partition(times, stages));
}

}  // namespace

SimulatedLayouts::SimulatedLayouts(LaidOutJob job) : job_(std::move(job)) {
  if (!job_.costs.has_network()) {
    throw Error("campaign: " + job_.schedule +
                ": steps of pipelines of other lengths follow from a network only; expected --network NAME, or "
                "--layouts instead of a schedule");
  }
  source_ = load_costs(job_.costs);
  if (source_.job() == nullptr) {
    throw Error("campaign: --profile: has times of one layout; expected --network NAME with --cluster NAME");
  }
  check_nodes();
  const auto layers = static_cast<std::int32_t>(source_.job()->network().layers.size());
  lengths_ = job_.lengths;
  for (std::int32_t length = 1; job_.lengths.empty() && length <= std::min(layers, job_.most_nodes); ++length) {
    lengths_.push_back(length);
  }
  std::ranges::sort(lengths_);
}

void SimulatedLayouts::check_nodes() const {
  const std::int64_t each = job_.costs.job.degrees.devices_per_stage();
  const auto devices = std::ssize(source_.job()->cluster().devices);
  if (each * job_.most_nodes <= devices) return;
  throw Error("campaign: there are up to " + std::to_string(job_.most_nodes) + " nodes" +
              (each > 1 ? " of " + std::to_string(each) + " devices" : "") + ", and the cluster '" +
              job_.costs.cluster + "' has " + std::to_string(devices) +
              " devices; expected a cluster that has them all");
}

std::int32_t SimulatedLayouts::most_pipelines(std::int32_t stages) const {
  return static_cast<std::int32_t>(std::min<std::int64_t>(job_.most_nodes / stages, job_.microbatches));
}

std::int64_t SimulatedLayouts::microbatches_of(JobLayout layout) const {
  return (job_.microbatches + layout.pipelines - 1) / layout.pipelines;
}

std::optional<StepOfLayout> SimulatedLayouts::step(JobLayout layout) {
  return simulated(layout, microbatches_of(layout));
}

std::int32_t SimulatedLayouts::layers() const {
  return static_cast<std::int32_t>(decoder_count(source_.job()->network()));
}

LayoutSource* SimulatedLayouts::redundant() {
  constexpr std::string_view kBamboo = "bamboo";
  if (job_.schedule == kBamboo) return nullptr;
  if (!redundant_) {
    LaidOutJob job = job_;
    job.schedule = kBamboo;
    job.size = {};
    job.size.options = {"wrap=yes"};
    job.lengths = lengths_;
    if (lengths_.back() > 1) std::erase(job.lengths, 1);  // a node alone has nobody to stand in for it
    redundant_ = std::make_unique<SimulatedLayouts>(std::move(job));
  }
  return redundant_.get();
}

std::optional<StepOfLayout> SimulatedLayouts::frozen_step(JobLayout layout, const FrozenLayers& layers) {
  if (layers.frozen == 0) return step(layout);
  if (this->layers() == 0) return LayoutSource::frozen_step(layout, layers);
  CostSource active = source_;
  AnalyticJob& job = *active.job();
  job.book = active_book(layers.frozen);
  // A cut that counts the layers of the whole network says nothing of fewer.
  if (job.cut.kind == LayerCut::Kind::kGiven) job.cut = {};
  const FrozenWork frozen = layers.cached ? FrozenWork{} : frozen_work(layout, job.network());
  return simulated(layout, microbatches_of(layout), std::move(active), frozen);
}

std::shared_ptr<JobPriceBook> SimulatedLayouts::active_book(std::int32_t frozen) {
  std::shared_ptr<JobPriceBook>& known = active_books_[frozen];
  if (!known) {
    const JobPriceBook& whole = *source_.job()->book;
    known = std::make_shared<JobPriceBook>(
        std::make_shared<const Network>(without_first_decoders(*whole.network(), static_cast<std::size_t>(frozen))),
        whole.cluster(), whole.rates());
  }
  return known;
}

SimulatedLayouts::FrozenWork SimulatedLayouts::frozen_work(JobLayout layout, const Network& active) const {
  CostSource all = source_;
  AnalyticJob& job = *all.job();
  job.parallelism.data = layout.pipelines;
  job.cut = {};
  const Network& network = job.network();
  ScheduleArguments size;
  size.devices = size.microbatches = 1;
  const PricedPipeline whole = price(all, load_schedule("1f1b", size, {}));
  FrozenWork frozen;
  const std::size_t first = whole_layers(network)[1];
  const std::size_t count = network.layers.size() - active.layers.size();
  for (std::size_t layer = first; layer < first + count; ++layer) frozen.forward += whole.costs.layer_forward[layer];
  const std::int64_t parameters = parameter_count(network) - parameter_count(active);
  frozen.weight_bytes =
      parameters * job.parallelism.precision.weight_bytes / std::max<std::int64_t>(1, job.parallelism.tensor);
  return frozen;
}

std::optional<std::int64_t> SimulatedLayouts::share_ns(JobLayout layout, double share) {
  const auto microbatches = std::llround(share * static_cast<double>(job_.microbatches));
  // Pipelines of several lengths reduce gradients together as so many of this one's length would, where the cluster has
  // room for these.
  for (std::int32_t pipelines = layout.pipelines; pipelines > 0; --pipelines) {
    const auto step = simulated({pipelines, layout.stages}, microbatches);
    if (step) return step->ns;
  }
  return {};
}

std::optional<StepOfLayout> SimulatedLayouts::simulated(JobLayout layout, std::int64_t microbatches) {
  return simulated(layout, microbatches, source_, {});
}

std::optional<StepOfLayout> SimulatedLayouts::simulated(JobLayout layout, std::int64_t microbatches, CostSource source,
                                                        const FrozenWork& frozen) {
  ScheduleArguments size = job_.size;
  size.devices = layout.stages;
  size.microbatches = microbatches;
  AnalyticJob& job = *source.job();
  job.parallelism.data = layout.pipelines;
  try {
    Schedule schedule = load_schedule(job_.schedule, size, search_goal(job_.costs, source, layout.stages));
    if (frozen.forward > 0 && job.cut.kind == LayerCut::Kind::kBalanced) {
      job.cut = cut_behind(frozen.forward, job, schedule.num_stages);
    }
    PricedPipeline priced = price(source, schedule);
    priced.costs.times.front().f += frozen.forward;
    StageMemory& held = priced.costs.memory.front();
    held.weight_bytes += frozen.weight_bytes;
    held.frozen_bytes += frozen.weight_bytes;
    const PreparedRun run = prepare_run(std::move(schedule), std::move(priced), source, job_.rules);
    const MemoryLimit limit = parse_memory_limit(job_.costs.memory_limit, run.costs());
    SimOptions options = run.rules.simulation(run.schedule);
    options.spans = options.memory_curve = false;
    const Timeline timeline = predict(run, limit, options);
    const std::vector<std::string> findings = memory_findings(timeline, limit);
    if (!findings.empty()) {
      refusal_ = findings.front();
      return {};
    }
    const std::int64_t ns = to_ns(timeline.step_time, timeline.base);
    return StepOfLayout{.ns = ns, .samples = timeline.samples_per_s.value_or(0) * static_cast<double>(ns) / 1e9};
  } catch (const Error& error) {
    // A schedule may not exist in this size, and a network may not have so many stages: another layout may work.
    refusal_ = error.what();
    return {};
  }
}

/// An option of rules as it was given.
struct GivenRuleOption {
  std::string key;   ///< "every" or "checkpoint.every"
  std::string rule;  ///< whose it is; empty: of all that have it
  std::string name;
  std::string value;

  /// Null where the rule is not asked, or has no such option.
  const NamedOption* of(const CampaignRuleSpec& spec) const {
    return rule.empty() || rule == spec.name ? find_option(spec.options, name) : nullptr;
  }
};

namespace {

constexpr double kHour = 3.6e12;  ///< nanoseconds
constexpr double kMostHours = 100'000;
constexpr double kMostPlayedLosses = 4e6;

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

/// An option whose value is a number, or several of them.
struct SweptNumber {
  std::string_view name;
  std::string CampaignQuestion::*text;
  RealRange within;
  bool whole;
  std::string_view meaning;
  std::string_view unit;
};

constexpr std::array<SweptNumber, 5> kSweptNumbers{{
    {"mtbf", &CampaignQuestion::mtbf, {.least = 1e-3, .most = 1e9}, false, "the mean hours until a node fails", " h"},
    {"nodes", &CampaignQuestion::nodes, {.least = 1, .most = 10'000}, true, "the nodes that there are at first", ""},
    {"hours", &CampaignQuestion::hours, {.least = 1e-3, .most = kMostHours}, false, "the length in hours", " h"},
    {"ready", &CampaignQuestion::ready, {.least = 0, .most = 1e6}, false, "the seconds until a node is ready", " s"},
    {"price", &CampaignQuestion::price, {.least = 0, .most = 1e9}, false, "the price of a node and hour", ""},
}};

/// Of "24", "2,6,24" or "2..32" (doubled from one to the next), ascending; none of an empty text. Throws `Error`.
std::vector<double> swept_values(const std::string& text, const std::string& where, const RealRange& within,
                                 bool whole) {
  const auto number = [&](const std::string& one) {
    const NumberRange range{.least = static_cast<std::int64_t>(within.least),
                            .most = static_cast<std::int64_t>(within.most)};
    return whole ? static_cast<double>(parse_whole(one, range, where)) : parse_real(one, where, within);
  };
  std::vector<double> values;
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) {
    for (const std::string& one : split(text, ',')) values.push_back(number(one));
    std::ranges::sort(values);
    return values;
  }
  const double last = number(text.substr(dots + 2));
  for (double next = number(text.substr(0, dots)); next <= last; next *= 2) {
    values.push_back(next);
    if (next == 0) throw Error(where + ": '" + text + "', expected a number above 0 that can be doubled");
  }
  if (values.empty()) throw Error(where + ": '" + text + "', expected the smaller number first");
  return values;
}

std::int64_t last_of(const NodeTrace& trace) { return trace.events.empty() ? 0 : trace.events.back().at_ns; }

std::vector<GivenRuleOption> given_rule_options(const std::vector<std::string>& texts) {
  std::vector<GivenRuleOption> given;
  for (const std::string& text : texts) {
    const auto [key, value] = parse_assignment(text, "--rule-opt");
    const std::size_t dot = key.find('.');
    given.push_back({.key = key,
                     .rule = dot == std::string::npos ? "" : key.substr(0, dot),
                     .name = dot == std::string::npos ? key : key.substr(dot + 1),
                     .value = value});
  }
  return given;
}

std::vector<CampaignRuleSpec> chosen_rules(const std::string& names) {
  std::vector<CampaignRuleSpec> chosen;
  if (names.empty() || names == "all") {
    std::ranges::copy_if(campaign_rules(), std::back_inserter(chosen),
                         [](const CampaignRuleSpec& rule) { return rule.changes_job.empty(); });
    return chosen;
  }
  for (const std::string& name : split(names, ',')) chosen.push_back(campaign_rule_named(name));
  return chosen;
}

/// Throws for an option that no chosen rule has.
void check_option_names(const std::vector<CampaignRuleSpec>& rules, const std::vector<GivenRuleOption>& given) {
  for (const GivenRuleOption& option : given) {
    if (std::ranges::any_of(rules, [&](const CampaignRuleSpec& rule) { return option.of(rule) != nullptr; })) continue;
    std::vector<std::string> names;
    for (const CampaignRuleSpec& rule : rules) {
      for (const std::string_view name : option_names(rule.options)) {
        names.emplace_back(name);
        names.push_back(std::string(rule.name) + "." + std::string(name));
      }
    }
    throw_unknown("option of a rule", option.key, std::vector<std::string_view>(names.begin(), names.end()));
  }
}

/// "checkpoint", "checkpoint and varuna", "checkpoint, varuna and 5 more".
std::string some_of(std::vector<std::string> names) {
  constexpr std::size_t kMostNamed = 3;
  if (names.size() > kMostNamed) {
    const std::size_t more = names.size() - kMostNamed + 1;
    names.resize(kMostNamed - 1);
    names.push_back(std::to_string(more) + " more");
  }
  std::string text;
  for (std::size_t k = 0; k < names.size(); ++k) {
    text += (k == 0 ? "" : k + 1 == names.size() ? " and " : ", ") + names[k];
  }
  return text;
}

/// The sweep of an option of rules, which says whose option it is, and what its values are if these rules agree.
CampaignSweep sweep_of_rules(const GivenRuleOption& option, std::vector<double> values,
                             const std::vector<CampaignRuleSpec>& rules) {
  std::vector<std::string> owners;
  std::vector<std::string_view> meanings;
  for (const CampaignRuleSpec& rule : rules) {
    const NamedOption* known = option.of(rule);
    if (known == nullptr) continue;
    owners.emplace_back(rule.name);
    meanings.push_back(known->meaning);
  }
  const bool agree = std::ranges::count(meanings, meanings.empty() ? "" : meanings.front()) == std::ssize(meanings);
  return {.option = option.key,
          .meaning = "option '" + option.name + "' of " + some_of(std::move(owners)),
          .values_are = std::string(agree && !meanings.empty() ? meanings.front() : ""),
          .unit = "",
          .values = std::move(values),
          .answers = {}};
}

std::string preset_names(std::span<const Preset> presets) {
  std::string names;
  for (const Preset& preset : presets) names += (names.empty() ? "" : ", ") + std::string(preset.name);
  return names;
}

}  // namespace

struct CampaignQuestion::Values {
  std::optional<double> mtbf_hours{};
  std::optional<double> nodes{};
  std::optional<double> hours{};
  std::optional<double> ready_s{};
  std::optional<double> price{};
  std::vector<GivenRuleOption> rule_options{};

  double node_count() const { return nodes.value_or(1); }
  std::int64_t until_ns() const { return std::llround(hours.value_or(24) * kHour); }
  std::int64_t ready_ns() const { return std::llround(ready_s.value_or(45) * 1e9); }

  std::optional<double>& number(std::string_view name) {
    if (name == "mtbf") return mtbf_hours;
    if (name == "nodes") return nodes;
    if (name == "hours") return hours;
    return name == "ready" ? ready_s : price;
  }
  /// Makes `option`, a number or "checkpoint.every", this value.
  void set(const std::string& option, double value);
  /// Options of one rule. Without an interval between checkpoints it is Young's best one, where it is known how often
  /// nodes fail.
  OptionTexts options_of(const CampaignRuleSpec& rule) const;
};

void CampaignQuestion::Values::set(const std::string& option, double value) {
  if (std::ranges::find(kSweptNumbers, option, &SweptNumber::name) != kSweptNumbers.end()) number(option) = value;
  for (GivenRuleOption& given : rule_options) {
    if (given.key == option) given.value = digits_of(value);
  }
}

OptionTexts CampaignQuestion::Values::options_of(const CampaignRuleSpec& rule) const {
  OptionTexts options;
  for (const GivenRuleOption& option : rule_options) {
    if (option.of(rule) != nullptr) options[option.name] = option.value;
  }
  check_options(rule.options, options, "option of the rule " + std::string(rule.name));
  const bool saves = find_option(rule.options, "every") != nullptr && find_option(rule.options, "save") != nullptr;
  if (!mtbf_hours || !saves || options.contains("every")) return options;
  const double save = OptionReader(rule.options, options).number("save");
  const double between = *mtbf_hours * 3600 / node_count();
  options["every"] = number_text(std::max(1.0, std::sqrt(2 * save * between)), 6);
  return options;
}

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
      .brief()
      .words(preset_words(trace_presets()))
      .text("mtbf", mtbf, "X|RANGE",
            "mean hours until a node fails; a new node replaces it. Several values, as 2,6,24 or 2..32 (doubled from "
            "one to the next), here or of another option: a table of all rules")
      .brief()
      .text("market", market, "TAKEN,GIVEN",
            "hourly probability that a node is preempted, and that a missing node is replaced")
      .text("nodes", nodes, "N|RANGE", "with --mtbf and --market: number of nodes at first")
      .brief()
      .text("hours", hours, "X|RANGE", "length (default: of the trace, or 24)")
      .brief()
      .text("ready", ready, "X|RANGE", "seconds from a node's coming to its being ready (default 45)")
      .real("interval", interval_seconds, {.least = 1, .most = 1e6},
            "read the trace as Parcae's program does, in intervals of X seconds")
      .whole("seed", seed, {.least = 0}, "seed of the random nodes (default 1)")
      .whole("runs", runs, {.least = 1, .most = 10'000},
             "with --mtbf and --market: seeds, one after another (default 1)")
      .text("price", price, "X|RANGE", "price of one node per hour, in any currency");
  options.group("Rules")
      .text("rules", rule_names, "NAMES",
            "rules with commas, or all (the default; not those that change the job); see `plumbline campaign --list`")
      .brief()
      .words(rule_words())
      .texts("rule-opt", rule_options, "KEY=VALUE",
             "an option of all rules that have it, or of one as RULE.KEY=VALUE; several values as of --mtbf");
  options.group("Layouts")
      .text("layouts", layouts, "NAME|FILE",
            "measured steps instead of a schedule, a document plumbline-layouts, or " + preset_names(layout_presets()))
      .brief()
      .words(preset_words(layout_presets()))
      .text("stages", lengths, "RANGE", "lengths of pipelines that are tried (default: all)")
      .whole("microbatches,m", size.microbatches, {.least = 1, .most = 1'000'000},
             "microbatches of a step, all pipelines together")
      .brief()
      .whole("chunks,v", size.chunks, {.least = 1, .most = 1'000}, "stages per device, where the schedule has several")
      .texts("opt", size.options, "KEY=VALUE", "an option of the schedule");
  costs.add_to(options);
  add_messages_to(options, rules);
}

CampaignQuestion::Values CampaignQuestion::values() const {
  Values read{.rule_options = given_rule_options(rule_options)};
  for (const SweptNumber& option : kSweptNumbers) {
    const std::string where = "--" + std::string(option.name);
    const std::vector<double> all = swept_values(this->*option.text, where, option.within, option.whole);
    if (!all.empty()) read.number(option.name) = all.front();
  }
  return read;
}

NodeTrace CampaignQuestion::nodes_of(const Values& values, std::uint64_t seed_of_run, std::int64_t until_ns) const {
  const auto count = static_cast<std::int32_t>(values.node_count());
  const double node_hours = static_cast<double>(count) * static_cast<double>(until_ns) / kHour;
  const double losses = node_hours / values.mtbf_hours.value_or(1);
  if (losses > kMostPlayedLosses) {
    throw Error("campaign: these nodes and hours have about " + count_text(std::llround(losses)) +
                " events, expected at most " + count_text(std::llround(kMostPlayedLosses)));
  }
  if (values.mtbf_hours) {
    return random_failures({.nodes = count,
                            .mean_ns = std::llround(std::min(*values.mtbf_hours * kHour, 9e18)),
                            .ready_ns = values.ready_ns(),
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

std::vector<CampaignProblem> CampaignQuestion::problems(const Values& values) const {
  const int sources =
      static_cast<int>(!trace.empty()) + static_cast<int>(!mtbf.empty()) + static_cast<int>(!market.empty());
  if (sources != 1) throw Error("campaign: expected one of --trace, --mtbf and --market: when nodes come and go");
  if (trace.empty() && nodes.empty()) throw Error("campaign: --nodes is missing, expected how many there are");
  if (!trace.empty() && (runs || !nodes.empty()))
    throw Error("campaign: a trace has its own nodes, expected no --runs and --nodes");
  CampaignProblem problem{.trace = {},
                          .until_ns = values.until_ns(),
                          .ready_ns = values.ready_ns(),
                          .price_per_node_hour = values.price.value_or(0)};
  if (!trace.empty()) {
    problem.trace = load_node_trace(trace);
    std::int64_t end = last_of(problem.trace);
    if (interval_seconds) problem.trace = in_intervals(problem.trace, std::llround(*interval_seconds * 1e9), end);
    if (hours.empty()) problem.until_ns = end;
    if (problem.until_ns <= 0) throw Error(trace + ": all nodes come at once and stay; expected --hours");
    return {problem};
  }
  std::vector<CampaignProblem> all;
  for (std::int64_t run = 0; run < runs.value_or(1); ++run) {
    problem.trace = nodes_of(values, static_cast<std::uint64_t>(seed.value_or(1) + run), problem.until_ns);
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
  if (!costs.job.tensor_by_rank.empty()) {
    throw Error("campaign: --tp-by-rank: layouts have several lengths, expected --tp");
  }
  LaidOutJob job{.schedule = names.front(), .size = size, .costs = costs, .rules = rules};
  job.microbatches = *size.microbatches;
  job.most_nodes = most_nodes;
  if (!lengths.empty()) {
    for (const std::int64_t length : parse_range(lengths, "--stages", {.least = 1, .most = 10'000})) {
      job.lengths.push_back(static_cast<std::int32_t>(length));
    }
  }
  return std::make_unique<SimulatedLayouts>(std::move(job));
}

std::optional<CampaignSweep> CampaignQuestion::swept() const {
  std::vector<CampaignSweep> found;
  for (const SweptNumber& option : kSweptNumbers) {
    const std::string name = "--" + std::string(option.name);
    std::vector<double> values = swept_values(this->*option.text, name, option.within, option.whole);
    if (values.size() < 2) continue;
    found.push_back({.option = std::string(option.name),
                     .meaning = std::string(option.meaning),
                     .values_are = "",
                     .unit = std::string(option.unit),
                     .values = std::move(values),
                     .answers = {}});
  }
  for (const GivenRuleOption& given : given_rule_options(rule_options)) {
    if (given.value.find("..") == std::string::npos && given.value.find(',') == std::string::npos) continue;
    std::vector<double> values = swept_values(given.value, "--rule-opt " + given.key, {.least = 0, .most = 1e9}, false);
    if (values.size() > 1) found.push_back(sweep_of_rules(given, std::move(values), chosen_rules(rule_names)));
  }
  if (found.empty()) return {};
  if (found.size() > 1) {
    throw Error("campaign: " + found[0].option + " and " + found[1].option +
                " both name several values; expected one option that does");
  }
  return std::move(found.front());
}

bool CampaignQuestion::is_sweep() const { return swept().has_value(); }

CampaignSweep CampaignQuestion::sweep() const {
  std::optional<CampaignSweep> all = swept();
  if (!all) throw Error("campaign: expected an option with several values, such as --mtbf 2..32");
  Values of_one = values();
  for (const double value : all->values) {
    of_one.set(all->option, value);
    all->answers.push_back(answer(of_one));
  }
  return *std::move(all);
}

CampaignAnswer CampaignQuestion::answer() const {
  if (const std::optional<CampaignSweep> several = swept()) {
    throw Error("campaign: " + several->option + " names " + std::to_string(several->values.size()) +
                " values; expected one");
  }
  return answer(values());
}

CampaignAnswer CampaignQuestion::answer(const Values& values) const {
  const std::vector<CampaignRuleSpec> chosen = chosen_rules(rule_names);
  check_option_names(chosen, values.rule_options);
  std::vector<CampaignProblem> all = problems(values);
  std::int32_t most = 0;
  for (const CampaignProblem& problem : all) most = std::max(most, most_nodes_of(problem.trace));
  const std::unique_ptr<LayoutSource> source = source_of(most);
  LayoutBook book(*source);
  if (!book.best(most)) {
    throw Error("campaign: the job runs in no layout of " + std::to_string(most) + " nodes" +
                (source->refusal().empty() ? "" : ": " + source->refusal()));
  }
  CampaignAnswer answer{.job = job_text(),
                        .nodes = nodes_text(values),
                        .price_per_node_hour = all.front().price_per_node_hour,
                        .outcomes = {}};
  for (const CampaignRuleSpec& rule : chosen) {
    CampaignOutcome outcome{.rule = std::string(rule.name), .runs = {}};
    for (CampaignProblem& problem : all) {
      problem.options = values.options_of(rule);
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

std::string CampaignQuestion::nodes_text(const Values& values) const {
  if (!trace.empty()) return "trace " + trace;
  const std::string count = number_text(values.node_count(), 6) + " nodes";
  if (mtbf.empty()) return count + " of a market that takes and gives " + market;
  return count + " that fail after " + number_text(values.mtbf_hours.value_or(0)) + " h on average";
}

void CampaignQuestion::add_parts(const Request& request, AnswerDocument& document) {
  const auto add = [&](const auto& found) {
    if (request.wants("campaign")) document.add_json("campaign", campaign_json(found));
    if (request.wants("text")) document.add_text("text", campaign_text(found));
    if (request.wants("html")) document.add_text("html", campaign_page(found));
  };
  is_sweep() ? add(sweep()) : add(answer());
}

}  // namespace plumb
