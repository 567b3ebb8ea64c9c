#include "tools/plans/plan_search_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "models/ground/error.hpp"
#include "models/ground/text_stream.hpp"
#include "models/kernels/kernel_rates_io.hpp"
#include "models/kernels/rates_text.hpp"
#include "models/pricing/profiled_network.hpp"
#include "models/stages/whole_layers.hpp"
#include "schedules/document/schedule.hpp"
#include "sim/plan_search/placed_schedule.hpp"
#include "sim/plan_search/plan_front.hpp"
#include "tools/formats/schedule_guide.hpp"
#include "tools/plans/launch_changes.hpp"
#include "tools/plans/plan_figures.hpp"
#include "tools/reports/report_html.hpp"
#include "tools/reports/report_svg.hpp"
#include "tools/tables/job_fit.hpp"
#include "tools/tables/timeline_text.hpp"
#include "tools/terminal/answer_lines.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

constexpr std::size_t kMostStages = 16;
constexpr std::size_t kMostFront = 12;

std::string count(std::int64_t number, const char* one, const char* many) {
  return std::to_string(number) + " " + (number == 1 ? one : many);
}

bool has_prices(const PlanQuestion& question) { return question.cluster.devices.front().price_per_hour > 0; }

std::string cost_text(const ScoredPlan& score, const PlanQuestion& question) {
  return number_text(plan_cost(score, question) * 1e6);
}

std::string cost_unit(const PlanQuestion& question) { return has_prices(question) ? "price" : "device-seconds"; }

std::string cost_title(const PlanQuestion& question) { return cost_unit(question) + " per million " + question.unit(); }

/// Of the front, what costs least.
const ScoredPlan& cheapest(const PlanAnswer& answer) {
  return *std::ranges::min_element(answer.front, {}, &ScoredPlan::price);
}

std::string order_text(const std::vector<std::int32_t>& order) {
  std::string text;
  for (const std::int32_t place : order) text += (text.empty() ? "" : " ") + std::to_string(place);
  return text;
}

bool is_natural(const std::vector<std::int32_t>& order) {
  return std::is_sorted(order.begin(), order.end()) && order.back() + 1 == static_cast<std::int32_t>(order.size());
}

/// "3" or "3 to 0": the largest and the least of the stages' means.
std::string ages_text(const std::vector<StageDelays>& delays, DelayCounts StageDelays::*counts) {
  double most = 0;
  double least = delays.empty() ? 0 : std::numeric_limits<double>::max();
  for (const StageDelays& stage : delays) {
    const double mean = mean_delay(stage.*counts);
    most = std::max(most, mean);
    least = std::min(least, mean);
  }
  return least < most ? number_text(most) + " to " + number_text(least) : number_text(most);
}

/// "64.8 % of 989 TFLOP/s (model FLOPs utilization): 641 TFLOP/s per device"; empty where FLOPs are not known.
std::string utilization_line(const PlanQuestion& question, const ScoredPlan& score) {
  const PlanSpeed speed = plan_speed(question, score);
  if (speed.tflops_per_device == 0) return {};
  return number_text(speed.tflops_per_device) + " TFLOP/s per device, " + percent_text(speed.utilization) +
         " of its peak (model FLOPs utilization)";
}

/// All that the fullest device needs, against its memory.
void add_memory(const PlanQuestion& question, const SimulatedPlan& simulated, TextTable& table) {
  const ScoredPlan& best = simulated.score;
  table.add_row(
      {"memory", need_text(plan_need(question, best)) + ", on pipeline rank " + std::to_string(best.worst_place)});
  const std::string largest = plan_largest(question, simulated);
  if (!largest.empty()) table.add_row({"largest", largest});
}

bool cuts_inside_layers(const Network& network, const Partition& partition) {
  const bool has_decoders = !layer_counts(network, Partition{{0, network.layers.size()}}).empty();
  return has_decoders && layer_counts(network, partition).empty();
}

/// A faster plan that stands second, since its memory is tight; nullptr where there is none.
const ScoredPlan* tight_plan(const PlanAnswer& answer) {
  const bool faster = answer.best.size() > 1 && answer.best[1].step_ns < answer.best[0].step_ns;
  return faster ? &answer.best[1] : nullptr;
}

std::string proof_text(const PlanAnswer& answer) {
  const bool tight = tight_plan(answer) != nullptr;
  if (answer.exhausted) {
    return std::string("proved: no plan ") + (tight ? "that fits" : "in the search space") + " is faster";
  }
  if (answer.unpriced > 0) return "how much less is possible is not known";
  return "at most " + percent_text(answer.gap()) + " less time is possible" + (tight ? " in a plan that fits" : "") +
         " (lower bound " + time_text(answer.bound_ns) + ")";
}

/// What a limit left undone; empty where none did.
std::string cut_short_text(const PlanAnswer& answer) {
  if (answer.unpriced > 0) {
    return "cut short by the limit: " + count(answer.unpriced, "layout was", "layouts were") +
           " not priced, and nothing is proved about their plans";
  }
  return answer.cut_short ? "cut short by the limit: more time may find a faster plan" : "";
}

std::string tight_text(const PlanQuestion& question, const PlanAnswer& answer) {
  const ScoredPlan* tight = tight_plan(answer);
  if (tight == nullptr) return {};
  const double share = static_cast<double>(tight->step_ns) / static_cast<double>(answer.best.front().step_ns);
  return time_text(tight->step_ns) + ", " + percent_text(1 - share) + " less: " + plan_line(tight->plan) + "; " +
         need_text(plan_need(question, *tight));
}

std::string space_text(const PlanQuestion& question) {
  if (question.runtime != nullptr) return "only what " + std::string(question.runtime->title) + " runs";
  return question.for_systems ? "only what some system runs; --all searches all schedules" : "";
}

std::string figures(const PlanQuestion& question, const PlanAnswer& answer, const SimulatedPlan& simulated) {
  const ScoredPlan& best = answer.best.front();
  const double seconds = static_cast<double>(best.step_ns) * 1e-9;
  TextTable table({{"plan"}, {plan_line(best.plan)}});
  table.add_row({"step time", time_text(best.step_ns) + ", " + proof_text(answer)});
  table.add_row({"throughput", number_text(static_cast<double>(question.tokens()) / seconds) + " " + question.unit() +
                                   "/s, " + cost_text(best, question) + " " + cost_title(question)});
  const std::string utilization = utilization_line(question, best);
  if (!utilization.empty()) table.add_row({"", utilization});
  if (has_prices(question) && !answer.front.empty()) {
    const ScoredPlan& least = cheapest(answer);
    table.add_row({"cheapest", cost_text(least, question) + " " + cost_title(question) + " in " +
                                   time_text(least.step_ns) + ": " + plan_line(least.plan)});
  }
  const std::string stale = staleness_line(question, best.plan);
  if (!stale.empty()) table.add_row({"staleness", stale});
  table.add_row({"runs in", plan_systems_text(question, best.plan)});
  if (const std::string tight = tight_text(question, answer); !tight.empty()) {
    table.add_row({"tight", tight});
  }
  table.add_row(
      {"devices", std::to_string(best.plan.num_devices()) + " of " + std::to_string(question.cluster.devices.size())});
  if (!is_natural(best.plan.order)) table.add_row({"device order", order_text(best.plan.order)});
  add_memory(question, simulated, table);
  table.add_row({"layers", to_string(best.plan.partition)});
  const StageChoices& choices = best.plan.choices;
  if (!choices.recomputed.empty()) {
    table.add_row({"recomputed", "of every stage the first " + counts_text(choices.recomputed) + " layers"});
  }
  if (!choices.sharded.empty()) {
    table.add_row({"sharded", "of every stage the first " + counts_text(choices.sharded) +
                                  " layers (as --partition counts them) as by ZeRO 3"});
  }
  if (!choices.offloaded.empty()) {
    table.add_row({"on the host", counts_text(choices.offloaded) + " % of the stashes of every stage"});
  }
  if (cuts_inside_layers(question.network, best.plan.partition)) {
    table.add_row({"", "cut between attention and MLP, which no training system runs: --cut layers"});
  }
  table.add_row({"stands on", rates_text(question.used_rates())});
  table.add_row(
      {"searched", count(answer.simulated, "simulation", "simulations") +
                       (answer.seeded > 0 ? " (" + std::to_string(answer.seeded) + " of published planners)" : "") +
                       ", " + count(answer.setups, "combination", "combinations") + " of degrees, of which " +
                       std::to_string(answer.without_memory) + " cannot fit in memory"});
  if (const std::string space = space_text(question); !space.empty()) table.add_row({"", space});
  if (const std::string cut = cut_short_text(answer); !cut.empty()) table.add_row({"", cut});
  return table.to_string();
}

/// The best plan of every published planner, simulated.
std::string planners_table(const PlanAnswer& answer) {
  TextTable table({{"planner"}, {"step", '>'}, {"of ours", '>'}});
  for (const auto& [name, step_ns] : answer.planner_ns) {
    const double share = static_cast<double>(step_ns) / static_cast<double>(answer.best.front().step_ns);
    table.add_row({name, step_ns == 0 ? "does not fit" : time_text(step_ns), step_ns == 0 ? "" : percent_text(share)});
  }
  return table.to_string();
}

/// Stages of one copy that are equal but for their place.
struct EqualStages {
  std::vector<std::int64_t> stages{};
  std::set<std::int64_t> ranks{};
  LayerRange layers{};  ///< of all of them, where they follow each other
  std::size_t layers_each = 0;
};

/// "6 each, residual5 to residual64".
std::string layers_text(const Network& network, const EqualStages& equal) {
  const std::string& first = network.layers[equal.layers.begin].name;
  const std::string& last = network.layers[equal.layers.end - 1].name;
  const bool follows = equal.layers.end - equal.layers.begin == equal.stages.size() * equal.layers_each;
  std::string text = std::to_string(equal.layers_each) + (equal.stages.size() > 1 ? " each" : "");
  if (follows) text += ", " + first + (first == last ? "" : " to " + last);
  return text;
}

/// A row for the equal stages of every copy that has a share of its own.
std::string stages_table(const PlanQuestion& question, const SimulatedPlan& best) {
  const PipelinePlan& plan = best.score.plan;
  std::vector<TextTable::Column> columns{
      {"stage"}, {"pp rank"}, {"device"}, {"layers"}, {"F", '>'}, {"B", '>'}, {"weights and state", '>'}};
  if (!plan.shares.empty()) columns.insert(columns.begin(), {"microbatches", '>', "copy"});
  TextTable table(columns);
  const std::size_t of_one = plan.partition.num_stages();
  const std::size_t replicas = best.schedule.placement.size() / static_cast<std::size_t>(plan.copies());
  for (std::size_t copy = 0; copy < static_cast<std::size_t>(plan.copies()); ++copy) {
    std::vector<std::pair<std::vector<std::string>, EqualStages>> rows;
    for (std::size_t s = 0; s < of_one; ++s) {
      const std::vector<DeviceId>& holders = best.schedule.placement[copy * replicas][s];
      const DeviceSpec& spec = best.stages.pipeline.devices[index(holders.front())];
      const LayerRange range = plan.partition.range(s);
      const StageTimes& times = best.stages.costs.times[s];
      const auto taken = [&](Ticks ticks) {
        return time_text(std::llround(static_cast<double>(to_ns(ticks, best.stages.costs.base)) / spec.speed));
      };
      const std::int64_t held = best.stages.costs.memory.empty() ? 0 : held_bytes(best.stages.costs.memory[s]);
      const std::vector<std::string> cells{spec.name, taken(times.f), taken(times.b), bytes_text(held)};
      const std::size_t layers = range.end - range.begin;
      auto row = std::ranges::find_if(
          rows, [&](const auto& known) { return known.first == cells && known.second.layers_each == layers; });
      if (row == rows.end()) row = rows.insert(rows.end(), {cells, {.layers = range, .layers_each = layers}});
      row->second.stages.push_back(static_cast<std::int64_t>(s));
      row->second.layers.end = range.end;
      for (const DeviceId holder : holders) row->second.ranks.insert(static_cast<std::int64_t>(index(holder)));
    }
    for (std::size_t at = 0; at < std::min(rows.size(), kMostStages); ++at) {
      const auto& [cells, equal] = rows[at];
      std::vector<std::string> row{ranges_text(equal.stages),
                                   ranges_text({equal.ranks.begin(), equal.ranks.end()}),
                                   cells[0],
                                   layers_text(question.network, equal),
                                   cells[1],
                                   cells[2],
                                   cells[3]};
      if (!plan.shares.empty()) row.insert(row.begin(), at == 0 ? std::to_string(plan.shares[copy]) : "");
      table.add_row(std::move(row));
    }
    if (rows.size() > kMostStages) table.add_row({"... " + std::to_string(rows.size() - kMostStages) + " more"});
  }
  return table.to_string();
}

/// Degrees that all plans leave at 1 have no column.
std::vector<std::pair<const char*, std::int64_t Parallelism::*>> shown_degrees(const std::vector<ScoredPlan>& plans) {
  std::vector<std::pair<const char*, std::int64_t Parallelism::*>> degrees{{"tp", &Parallelism::tensor}};
  const auto add = [&](const char* name, std::int64_t Parallelism::*degree) {
    const auto used = [&](const ScoredPlan& score) { return score.plan.parallelism.*degree > 1; };
    if (std::ranges::any_of(plans, used)) degrees.emplace_back(name, degree);
  };
  add("cp", &Parallelism::context);
  add("ep", &Parallelism::expert);
  degrees.emplace_back("dp", &Parallelism::data);
  return degrees;
}

/// A table without the columns in which all rows are alike, and without the price where it says what the step time
/// does. Those that everybody looks for stay.
std::string told_apart(std::vector<TextTable::Column> columns, std::vector<std::vector<std::string>> rows) {
  constexpr std::array<std::string_view, 6> kKept{"pp", "dp", "schedule", "step time", "needed", ""};
  const auto alike = [&](std::size_t i) {
    return std::ranges::all_of(rows, [&](const auto& row) { return row[i] == rows.front()[i]; });
  };
  const bool same_devices = alike(0);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const bool kept = std::ranges::find(kKept, columns[i].title) != kKept.end();
    const bool repeats = same_devices && columns[i].above == "device-seconds";
    if (!repeats && (kept || rows.size() < 2 || !alike(i))) continue;
    for (auto& row : rows) row[i] = "-";
  }
  TextTable table(std::move(columns));
  for (auto& row : rows) table.add_row(std::move(row));
  table.leave_out_empty_columns();
  return table.to_string();
}

std::string plans_table(const PlanQuestion& question, const std::vector<ScoredPlan>& plans, std::size_t most) {
  const auto degrees = shown_degrees(plans);
  const bool ages = question.ranges.asynchronous || !question.ranges.schedules.empty();
  std::vector<std::vector<StageDelays>> delays;
  for (std::size_t at = 0; ages && at < std::min(plans.size(), most); ++at) {
    delays.push_back(plan_delays(plans[at].plan, question.job.price));
  }
  const bool stale = std::ranges::any_of(delays, [](const auto& each) { return !each.empty(); });
  std::vector<TextTable::Column> columns{{"devices", '>'}, {"pp", '>'}};
  for (const auto& [name, degree] : degrees) columns.push_back({name, '>'});
  columns.insert(columns.end(), {{"schedule"},
                                 {"v", '>'},
                                 {"m", '>'},
                                 {"size", '>', "microbatch"},
                                 {"recompute"},
                                 {"zero", '>'},
                                 {"step time", '>'},
                                 {"bubble", '>'},
                                 {"needed", '>', "memory"},
                                 {"", '<'},
                                 {"per million " + std::string(question.unit()), '>', cost_unit(question)}});
  columns.push_back({"runs in"});
  const bool shared = std::ranges::any_of(plans, [](const ScoredPlan& each) { return !each.plan.shares.empty(); });
  if (shared) columns.push_back({"of copies", '<', "shares"});
  if (stale) columns.push_back({"of the weights", '>', "age"});
  std::vector<std::vector<std::string>> rows;
  for (std::size_t at = 0; at < std::min(plans.size(), most); ++at) {
    const ScoredPlan& score = plans[at];
    const PipelinePlan& plan = score.plan;
    const Parallelism& job = plan.parallelism;
    const MemoryNeed need = plan_need(question, score);
    std::vector<std::string> row{std::to_string(plan.num_devices()), std::to_string(plan.length())};
    for (const auto& [name, degree] : degrees) {
      row.push_back(degree == &Parallelism::tensor ? tensor_text(plan) : std::to_string(job.*degree));
    }
    for (std::string& cell : std::vector<std::string>{
             plan.schedule, std::to_string(plan.stages_per_place()), std::to_string(plan.microbatches),
             std::to_string(job.microbatch_size), std::string(recompute_word(job.recompute)),
             std::to_string(static_cast<int>(job.zero)), time_text(score.step_ns), percent_text(score.bubble_fraction),
             bytes_text(need.needed_bytes), std::string(verdict_word(need.verdict())), cost_text(score, question)}) {
      row.push_back(std::move(cell));
    }
    row.push_back(plan_systems_text(question, plan));
    if (shared) row.push_back(plan.shares.empty() ? "" : shares_text(plan));
    if (stale) row.push_back(ages_text(delays[at], &StageDelays::forward));
    rows.push_back(std::move(row));
  }
  return told_apart(std::move(columns), std::move(rows));
}

}  // namespace

std::string plan_line(const PipelinePlan& plan) {
  const Parallelism& job = plan.parallelism;
  const std::int64_t per_place = plan.stages_per_place();
  std::string text = plan.schedule.empty() ? "any schedule" : plan.schedule;
  if (plan.replicas.empty()) {
    if (plan.copies() > 1) text += ", " + std::to_string(plan.copies()) + " copies of";
    text += (plan.copies() > 1 ? " pp " : ", pp ") + std::to_string(plan.length());
    if (per_place > 1) text += ", " + std::to_string(per_place) + " stages per device";
  } else {
    text +=
        ", " + count(std::ssize(plan.replicas), "stage", "stages") + " on " + counts_text(plan.replicas) + " devices";
  }
  if (job.tensor > 1)
    text += ", tp " + tensor_text(plan) + (job.sequence_parallel ? "" : " without sequence parallelism");
  if (job.context > 1) text += ", cp " + std::to_string(job.context);
  if (job.expert > 1) text += ", ep " + std::to_string(job.expert);
  if (job.expert_parts() != job.tensor) text += ", etp " + std::to_string(job.expert_parts());
  if (job.data > 1) text += ", dp " + std::to_string(job.data);
  if (job.zero != ZeroStage::kNone) text += ", ZeRO " + std::to_string(static_cast<int>(job.zero));
  text += ", " + count(plan.microbatches, "microbatch", "microbatches") + " of " +
          count(job.microbatch_size, "sample", "samples");
  if (!plan.shares.empty()) text += " shared " + shares_text(plan);
  if (!plan.choices.sharded.empty()) text += ", ZeRO 3 of " + counts_text(plan.choices.sharded) + " layers";
  if (!plan.choices.offloaded.empty()) text += ", " + counts_text(plan.choices.offloaded) + " % of stashes on the host";
  if (!plan.choices.recomputed.empty()) {
    text += ", recompute of " + counts_text(plan.choices.recomputed) + " layers";
  } else if (job.recompute != ActivationRecompute::kNone) {
    text += ", " + std::string(recompute_word(job.recompute)) + " recompute";
  }
  return text;
}

double plan_cost(const ScoredPlan& score, const PlanQuestion& question) {
  return (has_prices(question) ? score.price() : score.device_seconds()) / static_cast<double>(question.tokens());
}

std::string staleness_line(const PlanQuestion& question, const PipelinePlan& plan) {
  const std::vector<StageDelays> delays = plan_delays(plan, question.job.price);
  if (delays.empty()) return {};
  std::int64_t versions = 1;
  for (const StageDelays& stage : delays) versions = std::max(versions, stage.versions);
  return "forwards read weights " + ages_text(delays, &StageDelays::forward) + " updates old, backwards " +
         ages_text(delays, &StageDelays::backward) + ", from the first stage to the last; at most " +
         count(versions, "version", "versions") + " of the weights";
}

std::string cost_line(const PlanQuestion& question, const ScoredPlan& score) {
  return cost_text(score, question) + " " + cost_title(question);
}

std::string plan_verdict(const PlanQuestion& question, const ScoredPlan& best) {
  const double seconds = static_cast<double>(best.step_ns) * 1e-9;
  const MemoryNeed need = plan_need(question, best);
  const std::string memory = need.verdict() == MemoryVerdict::kUnknown
                                 ? "needs " + bytes_text(need.needed_bytes)
                                 : std::string(verdict_word(need.verdict())) + " (" + bytes_text(need.needed_bytes) +
                                       " of " + bytes_text(need.limit_bytes) + ")";
  return "best plan: " + time_text(best.step_ns) + " a step, " +
         number_text(std::round(static_cast<double>(question.tokens()) / seconds)) + " " +
         std::string(question.unit()) + "/s, " + memory;
}

std::string plan_next(const PlanQuestion& question, const SimulatedPlan& best, const PlanFile& file,
                      const std::string& asked) {
  const PlanCommand command = simulate_command(question, best, file);
  if (!command.refused.empty()) return "\n" + sentence_text("No command simulates this plan: " + command.refused);
  const bool document = command.text.find(" " + shell_word(file.path) + " ") != std::string::npos;
  return next_text(document && !file.written ? asked + " -o " + shell_word(file.path) : command.text);
}

std::string plan_answer_text(const PlanQuestion& question, const PlanAnswer& answer, const SimulatedPlan& best) {
  std::string text = figures(question, answer, best) + "\n" + stages_table(question, best);
  if (answer.best.size() > 1) {
    text += "\nbest plan of each kind\n" + plans_table(question, answer.best, answer.best.size());
  }
  const std::vector<ScoredPlan> front = shown_front(answer.front);
  if (front.size() > 1) {
    text += std::string("\nPareto-optimal plans (step time, peak memory, devices") +
            (has_prices(question) ? ", price)\n" : ")\n") + plans_table(question, front, kMostFront);
    if (front.size() > kMostFront) {
      text += "... and " + std::to_string(front.size() - kMostFront) + " more; --json lists all\n";
    }
  }
  if (!answer.planner_ns.empty()) text += "\nplans of published planners\n" + planners_table(answer);
  return text;
}

std::string nothing_fits_text(const PlanAnswer& answer) {
  if (!answer.closest) return "plan: no schedule is possible: " + answer.refused;
  const ScoredPlan& closest = *answer.closest;
  const std::string cut = cut_short_text(answer);
  return "plan: nothing " + (cut.empty() ? "" : "that was tried (" + cut + ") ") +
         "fits in memory; the closest plan is " + plan_line(closest.plan) +
         (closest.plan.partition.num_stages() > 0 ? ", layers " + to_string(closest.plan.partition) : "") +
         ", which exceeds the memory of pipeline rank " + std::to_string(closest.worst_place) + " by " +
         bytes_text(closest.excess_bytes) + " (" + std::to_string(closest.excess_bytes) + " bytes)" +
         (closest.plan.schedule.empty() ? "; no order of the work helps, expected more devices or more memory in each"
                                        : "");
}

namespace {

/// The part of a guide that begins with `title`, with the line end before it; empty where there is none.
std::string guide_part(const std::string& guide, std::string_view title) {
  const std::size_t begin = guide.find("\n" + std::string(title));
  if (begin == std::string::npos) return {};
  const std::size_t end = guide.find("\n\n", begin + 1);
  return guide.substr(begin, end == std::string::npos ? end : end + 1 - begin);
}

std::string guide_of(const SimulatedPlan& best, const std::vector<LayerCounts>& stages, const PlanFile& file) {
  std::vector<std::int64_t> decoders;
  for (const LayerCounts& stage : stages) decoders.push_back(static_cast<std::int64_t>(stage.decoders));
  try {
    const std::string written = file.written ? "" : "  # after -o " + shell_word(file.path);
    return schedule_guide(best.schedule, decoders,
                          "plumbline convert " + shell_word(file.path) + " schedule.csv" + written);
  } catch (const Error& error) {
    return "\nPyTorch (torch.distributed.pipelining)\n  no: " + std::string(error.what()) + "\n";
  }
}

/// The launch for the system that the plan is for, or why there is none.
void add_launch(const PlanQuestion& question, const SimulatedPlan& best, TextStream& out) {
  const auto command = launch_command(question, best);
  if (!command) return;
  if (question.said) {
    const PlanCommand changes = launch_changes_command(*question.said, question, best);
    out << "\n" << question.runtime->title << ": change in " << question.said->settings.source() << "\n";
    out << (changes.refused.empty() ? changes.text : "  no: " + changes.refused + "\n");
    if (changes.refused.empty() || !command->refused.empty()) return;
  }
  out << "\n" << question.runtime->title << (question.runtime->name == "megatron" ? "" : "'s configuration") << "\n";
  if (!command->refused.empty()) {
    out << "  no: " << command->refused << "\n";
    return;
  }
  out << command->text << (command->text.ends_with('\n') ? "" : "\n");
  if (!command->note.empty()) out << "# " << command->note << "\n";
}

/// What DeepSpeed's configuration cannot say, because the model's own code does.
void add_pipeline_module(const PipelinePlan& plan, TextStream& out) {
  const std::int64_t again = plan.parallelism.recompute == ActivationRecompute::kFull ? 1 : 0;
  out << "  model = PipelineModule(layers, num_stages=" << plan.places << ", partition_method=\"type:transformer\", "
      << "activation_checkpoint_interval=" << again << ")  # the class of the decoder layers\n";
}

void add_megatron(const PlanQuestion& question, const SimulatedPlan& best, TextStream& out) {
  const PlanCommand command = megatron_command(question, best);
  out << "\nMegatron-LM\n" << (command.refused.empty() ? command.text : "  no: " + command.refused) << "\n";
  if (!command.note.empty()) out << "# " << command.note << "\n";
}

}  // namespace

std::string plan_guide(const PlanQuestion& question, const SimulatedPlan& best, const PlanFile& file) {
  const PipelinePlan& plan = best.score.plan;
  const std::string_view name = question.runtime == nullptr ? "" : question.runtime->name;
  const std::vector<LayerCounts> stages = layer_counts(question.network, plan.partition);
  const std::string guide = guide_of(best, stages, file);
  TextStream out;
  out << plan.schedule << ": " << plan.places << " devices, " << plan.partition.num_stages() << " stages, "
      << plan.microbatches << " microbatches\n";
  const bool torch = name == "pytorch" || name == "torchtitan";
  if (torch || name.empty()) out << guide_part(guide, "PyTorch");
  if (name.empty()) add_megatron(question, best, out);
  add_launch(question, best, out);
  if (name == "deepspeed" && !question.said) add_pipeline_module(plan, out);
  if (torch || name.empty()) out << guide_part(guide, "Transfers");
  const Parallelism& job = plan.parallelism;
  out << "\nDevice mesh (PyTorch init_device_mesh): pp " << plan.length() << ", dp " << job.data
      << (plan.shares.empty()
              ? ""
              : ", " + std::to_string(plan.copies()) + " copies that take " + shares_text(plan) + " microbatches")
      << (job.context > 1 ? ", cp " + std::to_string(job.context) : "") << ", tp " << tensor_text(plan)
      << (job.expert > 1 ? "; experts over " + std::to_string(job.expert) + " of dp x cp x tp" : "") << "\n";
  return out.str();
}

namespace {

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
    add([&](const DeviceSummary& device) { return device.idle_causes[cause]; }, kIdleCauseTexts[cause]);
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
    const PreparedRun run = placed_run(shown_schedule(score.plan, plan.stages), plan.stages);
    Timeline timeline = predict(run, {}, run.rules.simulation(run.schedule));
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
  std::vector<CardRun> runs;
  for (std::size_t at = 0; at < timelines.size(); ++at) {
    HtmlSection section{.title = std::to_string(at + 1) + ". " + plan_line(answer.best[at].plan)};
    section.note = need_text(plan_need(question, answer.best[at])) + "; " + cost_line(question, answer.best[at]);
    const std::string stale = staleness_line(question, answer.best[at].plan);
    if (!stale.empty())
      section.note += "; step " + time_text(answer.best[at].step_ns) + " in the steady state, " + stale;
    if (at > 0) section.note += "; " + why_slower(timelines[0], timelines[at]);
    section.first = &timelines[at];
    runs.push_back({std::to_string(at + 1) + ". " + timelines[at].schedule, &timelines[at]});
    report.sections.push_back(std::move(section));
  }
  if (runs.size() > 1) report.card = svg_picture(comparison_card(runs));
  return html_report(report);
}

namespace {

using Json = nlohmann::ordered_json;

/// Figures that people compare, and whether the plan fits as `simulate` says it.
void add_figures(const PlanQuestion& question, const ScoredPlan& score, Json& json) {
  json["tokens_per_s"] = static_cast<double>(question.tokens()) / (static_cast<double>(score.step_ns) * 1e-9);
  const PlanSpeed speed = plan_speed(question, score);
  if (speed.tflops_per_device > 0) {
    json["tflops_per_device"] = speed.tflops_per_device;
    json["model_flops_utilization"] = speed.utilization;
  }
  const MemoryNeed need = plan_need(question, score);
  json["memory"] = {{"needed_bytes", need.needed_bytes},
                    {"least_bytes", need.least_bytes},
                    {"most_bytes", need.most_bytes},
                    {"limit_bytes", need.limit_bytes},
                    {"verdict", verdict_word(need.verdict())}};
  json["runs_in"] = Json::array();
  for (const std::string_view title : plan_systems(score.plan, question.network)) json["runs_in"].push_back(title);
}

Json plan_to_json(const ScoredPlan& score, const PlanQuestion& question) {
  const PipelinePlan& plan = score.plan;
  const Parallelism& job = plan.parallelism;
  Json json{{"schedule", plan.schedule},
            {"places", plan.places},
            {"chunks", plan.stages_per_place()},
            {"microbatches", plan.microbatches},
            {"microbatch_size", job.microbatch_size},
            {"tensor", job.tensor},
            {"sequence_parallel", job.sequence_parallel},
            {"context", job.context},
            {"expert", job.expert},
            {"expert_tensor", job.expert_parts()},
            {"data", job.data},
            {"zero", static_cast<int>(job.zero)},
            {"recompute", recompute_word(job.recompute)},
            {"devices", plan.num_devices()},
            {"order", plan.order},
            {"partition", to_string(plan.partition)},
            {"step_time_ns", score.step_ns},
            {"bubble_fraction", score.bubble_fraction},
            {"peak_memory_bytes", score.peak_bytes},
            {"device_seconds", score.device_seconds()}};
  if (score.step_ns > 0) add_figures(question, score, json);
  if (score.price_per_hour > 0) {
    json["price_per_hour"] = score.price_per_hour;
    json[question.network.sequence > 1 ? "price_per_token" : "price_per_sample"] = plan_cost(score, question);
  }
  Json staleness = Json::array();
  for (const StageDelays& stage : plan_delays(plan, question.job.price)) {
    staleness.push_back({{"stage", index(stage.stage)},
                         {"tau_fwd", mean_delay(stage.forward)},
                         {"tau_bkwd", mean_delay(stage.backward)},
                         {"versions", stage.versions}});
  }
  if (!staleness.empty()) json["staleness"] = std::move(staleness);
  if (!plan.replicas.empty()) json["replicas"] = plan.replicas;
  if (!plan.shares.empty()) json["shares"] = plan.shares;
  for (const std::int32_t place : plan.order) {
    if (job.has_unlike_tensor()) json["tensor_by_rank"].push_back(job.tensor_of(place));
  }
  if (!plan.choices.recomputed.empty()) json["recomputed_layers"] = plan.choices.recomputed;
  if (!plan.choices.sharded.empty()) json["sharded_layers"] = plan.choices.sharded;
  if (!plan.choices.offloaded.empty()) json["offloaded_percent"] = plan.choices.offloaded;
  if (!score.fits()) json["missing_bytes"] = score.excess_bytes;
  return json;
}

void add_command(const char* key, const PlanCommand& command, Json& json) {
  json[key] = command.refused.empty() ? Json(command.text) : Json{{"refused", command.refused}};
  if (!command.note.empty()) json[std::string(key) + "_note"] = command.note;
  if (command.refused.empty() && !command.csv.empty()) json[std::string(key) + "_csv"] = command.csv;
}

/// How the plan is simulated again and launched.
void add_commands(const PlanQuestion& question, const ScoredPlan& score, const PlanFile& file, Json& json) {
  const SimulatedPlan plan = simulate_plan(score.plan, question.job.price);
  add_command("simulate", simulate_command(question, plan, file), json);
  if (const auto launch = launch_command(question, plan)) add_command("launch", *launch, json);
}

Json rates_json(const KernelRates& rates) {
  return {{"device", rates.device},
          {"basis", rates_basis_name(rates.basis)},
          {"fitted_rows", rates.fitted_rows},
          {"expected_error", rates.expected_error},
          {"source", rates.source}};
}

}  // namespace

std::string plan_answer_json(const PlanQuestion& question, const PlanAnswer& answer, const PlanFile& file) {
  Json json{{"format", "plumbline-plan-search"},
            {"version", 1},
            {"network", question.network.name},
            {"cluster", question.cluster.name},
            {"batch", question.job.batch},
            {"tokens", question.tokens()},
            {"bound_ns", answer.bound_ns},
            {"gap", answer.gap()},
            {"proved", answer.exhausted},
            {"simulations", answer.simulated},
            {"rates", rates_json(question.used_rates())},
            {"seeded", answer.seeded},
            {"setups", answer.setups},
            {"setups_without_memory", answer.without_memory},
            {"cut_short", answer.cut_short},
            {"unpriced", answer.unpriced}};
  json["best"] = Json::array();
  PlanFile each = file;
  for (const ScoredPlan& score : answer.best) {
    json["best"].push_back(plan_to_json(score, question));
    add_commands(question, score, each, json["best"].back());
    each.path.clear();  // only the best plan's schedule is written
  }
  json["front"] = Json::array();
  for (const ScoredPlan& score : shown_front(answer.front)) json["front"].push_back(plan_to_json(score, question));
  if (!answer.planner_ns.empty()) json["planners_ns"] = answer.planner_ns;
  if (answer.closest) json["closest"] = plan_to_json(*answer.closest, question);
  return json.dump(2) + "\n";
}

}  // namespace plumb
