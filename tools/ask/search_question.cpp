#include "tools/ask/search_question.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <utility>

#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/phases/phase_rules.hpp"
#include "sim/order_search/shapes.hpp"
#include "sim/prediction/memory_fit.hpp"
#include "sim/prediction/predict.hpp"
#include "tools/ask/answer.hpp"
#include "tools/ask/request.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/options/option_table.hpp"
#include "tools/options/run_options.hpp"
#include "tools/options/schedule_arguments.hpp"
#include "tools/terminal/answer_lines.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kMostSearchedPasses = 1'000'000;
constexpr std::int32_t kMostSearchedDevices = 1'000;
/// Of every schedule of the catalogue, in microbatches times devices.
constexpr std::int64_t kMostComparedPasses = 2'000;

constexpr std::array<std::string_view, 3> kPipelineShapes{"straight", "looped", "v"};
constexpr std::array<std::string_view, 2> kBackwards{"whole", "split"};

enum class PipelineShape : std::uint8_t { kStraight, kLooped, kV };

enum class OneOrBoth : std::uint8_t { kFirst, kSecond, kBoth };

OneOrBoth one_or_both(const std::string& text, std::string_view what, const std::array<std::string_view, 2>& names) {
  return text.empty() ? OneOrBoth::kBoth : enumerator<OneOrBoth>(names, what, text);
}

/// What the search asks again and again about schedules of one job.
class SearchedJob {
 public:
  SearchedJob(CostArguments costs, CostSource source, RunRules rules)
      : costs_(std::move(costs)), source_(std::move(source)), rules_(std::move(rules)) {}

  OrderRun run_of(const Schedule& schedule) const {
    const auto prepared =
        std::make_shared<const PreparedRun>(prepare_run(schedule, price(source_, schedule), source_, rules_));
    if (!(prepared->schedule.devices == schedule.devices)) {
      throw Error("search: " + schedule.name + " runs in another order with this runtime");
    }
    const MemoryLimit limit = parse_memory_limit(costs_, prepared->costs(), schedule);
    OrderRun run{.costs = prepared->costs(), .cluster = prepared->cluster()};
    run.lowering = prepared->lowering;
    run.options = prepared->rules.simulation(schedule);
    run.fits = [prepared, limit](const Timeline& timeline) {
      Timeline judged = timeline;
      fill_memory(judged, prepared->priced, limit);
      return plumb::fits(judged, limit);
    };
    return run;
  }

  double limit_of(const Schedule& schedule) const {
    const PricedPipeline input = price(source_, schedule);
    const MemoryLimit limit = parse_memory_limit(costs_, input.costs, schedule);
    if (!limit.in_bytes) return limit.value.value_or(0) / (limit.per_stage ? 1 : limit.stash_share);
    const std::int64_t bytes = limit_bytes(0, input, limit);
    if (bytes == 0 || !input.rates) return static_cast<double>(bytes);
    // What is held beside tensors at the limit is not there for them.
    const std::int64_t needed = memory_need(bytes, *input.rates, bytes).needed_bytes;
    return static_cast<double>(std::max<std::int64_t>(1, 2 * bytes - needed));
  }

  std::string description(const Schedule& schedule) const { return price(source_, schedule).description; }

 private:
  CostArguments costs_;
  CostSource source_;
  RunRules rules_;
};

}  // namespace

void SearchQuestion::add_to(OptionTable& options) {
  options.positionals(names, 0, "NAME|FILE,schedule");
  options.group("Pipeline")
      .whole("devices,p", devices, {.least = 1, .most = 1'000}, "pipeline devices")
      .brief()
      .whole("microbatches,m", microbatches, {.least = 1, .most = kMostSearchedPasses}, "microbatches per update")
      .brief()
      .whole("chunks,v", chunks, {.least = 1, .most = 1'000},
             "stages per device (default: 1 to 8 are compared); with NAME or FILE.rules: of it")
      .texts("opt", schedule_options, "KEY=VALUE", "with NAME or FILE.rules: an option of the schedule")
      .text(
          "placement", placement, "HOW",
          "straight (one stage per device), looped (several, round the devices) or v (two, down the devices and back); "
          "default: all")
      .brief()
      .words(kPipelineShapes)
      .text("shape", shape, "NAME",
            "a placement with blocks that all devices compute together, in place of NAME or FILE: v, x, m, nn or k "
            "(Tessel), or interlaced. S and T in --cost are the passes of such a block")
      .words(kBlockShapes)
      .text("backward", backward, "HOW", "whole, or split into input and weight gradients; default: both")
      .words(kBackwards);
  options.group("Effort, counted so that the same question has the same answer")
      .whole("repeat", repeated, {.least = 1, .most = 64}, "longest period to try, in microbatches (default 6)")
      .whole("nodes", nodes, {.least = 1, .most = 1'000'000'000},
             "search-tree nodes for each period; branch and bound takes ten times this number (default 20000)")
      .whole("simulations", simulations, {.least = 0, .most = 1'000'000'000},
             "simulations for the local search (default 20000)");
  costs.add_to(options);
  add_messages_to(options, rules);
}

std::optional<SearchStart> SearchQuestion::start(const CostArguments& asked, const CostSource& source) const {
  if (!shape.empty()) return shape_start();
  if (names.size() > 1) throw Error("search: " + names[1] + ": expected one schedule to start from");
  if (names.empty() && !schedule_options.empty()) {
    throw Error("search: --opt is an option of a schedule to start from, expected one");
  }
  if (names.empty()) return std::nullopt;
  const std::string& name = names.front();
  ScheduleArguments sizes;
  sizes.devices = devices;
  sizes.microbatches = microbatches;
  sizes.chunks = chunks;
  sizes.options = schedule_options;
  SearchGoal goal;
  if (devices) goal = search_goal(asked, source, static_cast<std::int32_t>(*devices));
  check_schedule_name(name);
  SearchStart start{.name = name, .schedule = load_schedule(name, sizes, goal)};
  if (start.schedule.num_devices > kMostSearchedDevices) {
    throw Error("search: " + name + " has " + std::to_string(start.schedule.num_devices) +
                " devices, expected at most " + std::to_string(kMostSearchedDevices));
  }
  if (name.ends_with(kRulesExtension)) {
    start.rules = RulesForSizes{.rules = phase_rules_from_text(read_text_file(name), name),
                                .file = name,
                                .params = schedule_params(name, sizes, goal)};
  }
  return start;
}

SearchStart SearchQuestion::shape_start() const {
  if (!names.empty() || !schedule_options.empty() || chunks || !placement.empty()) {
    throw Error(
        "search: --shape is a placement of its own, expected no schedule to start from, --opt, -v or --placement");
  }
  return {.name = "shape " + shape, .schedule = shape_frame(shape, static_cast<std::int32_t>(*devices), *microbatches)};
}

ScheduleSearch SearchQuestion::search_of(const CostArguments& asked, const CostSource& source) const {
  const auto job = std::make_shared<SearchedJob>(asked, source, rules);
  ScheduleSearch search;
  search.start = start(asked, source);
  search.params.num_devices = search.start ? search.start->schedule.num_devices : static_cast<std::int32_t>(*devices);
  search.params.num_microbatches = search.start ? search.start->schedule.num_microbatches : *microbatches;
  SearchGoal goal = search_goal(asked, source, search.params.num_devices);
  search.params.costs = std::move(goal.costs);
  search.params.memory_limit = goal.memory_limit;
  search.run = [job](const Schedule& schedule) { return job->run_of(schedule); };
  search.memory_limit = [job](const Schedule& schedule) { return job->limit_of(schedule); };
  const OneOrBoth halves = one_or_both(backward, "backward", kBackwards);
  choose_placement(search);
  search.whole = halves != OneOrBoth::kSecond;
  search.split = halves != OneOrBoth::kFirst;
  search.most_repeated = repeated.value_or(search.most_repeated);
  search.nodes = nodes.value_or(search.nodes);
  search.simulations = simulations.value_or(search.simulations);
  return search;
}

void SearchQuestion::choose_placement(ScheduleSearch& search) const {
  const bool several = search.params.num_devices > 1;
  const bool any = placement.empty();
  const auto placed =
      any ? PipelineShape::kStraight : enumerator<PipelineShape>(kPipelineShapes, "placement", placement);
  search.straight = any || placed == PipelineShape::kStraight;
  search.looped = (any || placed == PipelineShape::kLooped) && several;
  search.in_v = (any || placed == PipelineShape::kV) && several;
  if (search.start || !chunks) return;
  search.chunks = static_cast<std::int32_t>(*chunks);
  const bool suits = any || (placed == PipelineShape::kStraight && *chunks == 1) ||
                     (placed == PipelineShape::kLooped && *chunks > 1) || (placed == PipelineShape::kV && *chunks == 2);
  if (!suits) {
    throw Error("search: " + std::to_string(*chunks) + " stages per device: placement " + placement + " expected " +
                (placed == PipelineShape::kStraight ? "1"
                 : placed == PipelineShape::kV      ? "2"
                                                    : "at least 2"));
  }
}

std::optional<SearchedOrder> SearchQuestion::best_known(ScheduleSearch search) const {
  const bool is_small = search.params.num_devices * search.params.num_microbatches <= kMostComparedPasses;
  if (!search.start || !shape.empty() || costs.per_stage || !is_small) return std::nullopt;
  const std::int32_t own_chunks = search.start->schedule.num_stages / search.params.num_devices;
  search.start.reset();
  search.straight = search.looped = search.in_v = true;
  search.whole = search.split = true;
  search.most_repeated = search.nodes = search.simulations = 0;
  std::optional<SearchedOrder> best;
  for (const std::int32_t count : std::set<std::int32_t>{1, 2, std::max(1, own_chunks)}) {
    search.chunks = count;
    const ScheduleSearchAnswer found = search_schedules(search);
    const SearchedOrder* known = found.best_of_catalogue();
    if (known != nullptr && (!best || known->is_shorter_than(*best))) best = *known;
  }
  return best;
}

OrderSearchAnswer SearchQuestion::answer() const {
  if (names.empty() && !devices)
    throw Error("search: -p is missing, expected the number of pipeline devices (such as -p 4 -m 8)");
  if (names.empty() && !microbatches)
    throw Error("search: -m is missing, expected the microbatches per update (such as -m 8)");
  if (costs.jitter) throw Error("search: --jitter: orders are compared without it, expected none");
  const bool one_cut = !names.empty() || chunks || !shape.empty() || placement == "straight" || placement == "v";
  if (costs.per_stage && !one_cut) {
    throw Error(
        "search: --per-stage: orders of unlike numbers of stages would do unequal work, expected -v N or a schedule to "
        "start from with it");
  }
  CostArguments asked = costs;
  asked.assume_where_missing();
  const CostSource source = load_costs(asked);
  OrderSearchAnswer answer;
  const ScheduleSearch search = search_of(asked, source);
  answer.found = search_schedules(search);
  answer.known = best_known(search);
  answer.devices = search.params.num_devices;
  answer.microbatches = search.params.num_microbatches;
  if (search.start) answer.start = search.start->name;
  answer.memory_limit = asked.memory_limit;
  answer.times = time_words(source);
  answer.counts_stashes = !asked.cost.empty() && asked.memory.empty();
  if (answer.found.orders.empty()) return answer;
  const SearchedJob job(asked, source, rules);
  SearchedOrder& best = answer.found.orders.front();
  answer.costs = job.description(best.schedule);
  if (best.origin != OrderOrigin::kCatalogue && best.origin != OrderOrigin::kGiven) best.schedule.name = "searched";
  best.schedule.parameters["p"] = answer.devices;
  best.schedule.parameters["m"] = answer.microbatches;
  best.schedule.parameters["found_by"] = best.name;
  if (best.bound > 0) {
    best.schedule.parameters["makespan_bound_ms"] = static_cast<double>(to_ns(best.bound, best.timeline.base)) * 1e-6;
  }
  return answer;
}

std::string SearchQuestion::next(const OrderSearchAnswer& answer, const std::string& file) const {
  const SearchedOrder& best = answer.found.orders.front();
  std::string command = "plumbline simulate ";
  if (!file.empty()) {
    command += shell_word(file);
  } else if (best.origin == OrderOrigin::kCatalogue) {
    for (const std::string& word : split(best.name, ' ')) {
      const bool is_chunks = word.starts_with("v=");
      if (word.find('=') != std::string::npos) command += is_chunks ? " -v " : " --opt ";
      command += is_chunks ? word.substr(2) : shell_word(word);
    }
    command += " -p " + std::to_string(answer.devices) + " -m " + std::to_string(answer.microbatches);
  } else {
    return "";
  }
  return command + carried_to_simulate(given, {"devices", "microbatches", "chunks", "opt"}) + " --summary";
}

void SearchQuestion::add_parts(const Request& request, AnswerDocument& document) {
  const OrderSearchAnswer found = answer();
  if (request.wants("search")) document.add_json("search", order_search_json(found));
  if (found.found.orders.empty()) {
    document.status = ExitStatus::kNo;
    document.findings.push_back(no_order_text(found));
    return;
  }
  if (request.wants("text")) document.add_text("text", order_search_text(found) + next_text(next(found, "")));
  if (request.wants("document")) {
    document.add_json("document", schedule_to_json(found.found.orders.front().schedule));
  }
}

}  // namespace plumb
