#include "tools/advice/advice_text.hpp"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "tools/terminal/answer_lines.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"

namespace plumb {
namespace {

std::string run_text(const Advice& advice) {
  TextTable table(
      {{"this run"},
       {std::to_string(advice.num_devices) + " devices, " + std::to_string(advice.num_microbatches) +
        " microbatches, " + ns_text(advice.measured_ns) + " a step (median of " + std::to_string(advice.steps) + ")"}});
  table.add_row({"its order", (advice.own() == nullptr ? "none of the catalogue's" : advice.own()->candidate.name) +
                                  ", predicted " + ns_text(advice.predicted_ns) + " (" +
                                  gain_text(advice.predicted_ns / advice.measured_ns - 1) + ")"});
  table.add_row({"uncertainty", fixed_text(100 * advice.uncertainty, 1) +
                                    " % either way: the error of this prediction, and half the range of the run's "
                                    "steps"});
  return table.to_string();
}

/// "dualpipev", "1f1b, 2 replicas".
std::string name_text(const AdvisedSchedule& schedule) {
  const std::int32_t replicas = schedule.candidate.replicas;
  return schedule.candidate.name + (replicas > 1 ? ", " + std::to_string(replicas) + " replicas" : "");
}

/// Others that are as fast as the advised one, as far as predictions can tell.
std::string ties_text(const Advice& advice) {
  std::string names;
  for (const AdvisedSchedule& each : advice.schedules) {
    if (each.ties && &each != advice.best()) names += (names.empty() ? "" : "; ") + name_text(each);
  }
  if (names.empty()) return "";
  return "Equally fast within the error of predictions (" + fixed_text(100 * kSameStep, 0) +
         " % of the fastest), with at least the same memory: " + names + ".";
}

std::string note_text(const Advice& advice, const AdvisedSchedule& schedule) {
  if (schedule.candidate.is_run) {
    const std::string own = advice.run_by == advice.runtime ? "this run" : "this run's order, as a file";
    return own + (schedule.fits ? "" : ", does not fit");
  }
  if (!schedule.fits) return "does not fit";
  return schedule.ties ? "tie" : "";
}

/// What a file of one pipeline leaves to whoever launches the job.
std::string replicas_note(const Advice& advice, const Candidate& candidate) {
  if (candidate.replicas == 1) return "";
  const std::string n = std::to_string(candidate.replicas);
  const std::string megatron =
      advice.format == "megatron" ? ", and --global-batch-size is " + n + " times as large" : "";
  return "holds one of " + n + " pipelines; launch " + n + " in parallel (data parallel size " + n + ")" + megatron;
}

/// Whether pipelines of fewer ranks are among the rows.
bool has_replicas(const Advice& advice) {
  return std::ranges::any_of(advice.schedules, [](const auto& one) { return one.candidate.replicas > 1; });
}

}  // namespace

std::string verdict_sentence(const Advice& advice) {
  const AdvisedSchedule* best = advice.best();
  if (best == nullptr) return "No schedule fits in the memory limit";
  if (advice.format.empty()) {
    return "For the runtime " + advice.runtime +
           " only the run's own order is predicted; --runtime pytorch, torchtitan or megatron says what other "
           "schedules "
           "would give there";
  }
  const bool all_fit = std::ranges::all_of(advice.schedules, &AdvisedSchedule::fits);
  const std::string others = all_fit ? "that its runtime can run" : "that fits in the memory limit";
  if (best->candidate.is_run) {
    const bool is_fastest = std::ranges::all_of(
        advice.schedules, [&](const AdvisedSchedule& one) { return !one.fits || one.step_ns >= best->step_ns; });
    return is_fastest ? "The run's own schedule is the fastest one " + others
                      : "No schedule " + others + " is faster than the run's own by more than " +
                            fixed_text(100 * kSameStep, 0) + " %";
  }
  const std::string within = std::abs(best->saves) > advice.uncertainty ? "" : ", which is within the uncertainty";
  if (best->saves >= 0)
    return name_text(*best) + " would save " + fixed_text(100 * best->saves, 1) + " % of a step" + within;
  return "No schedule " + others + " is faster than this run; the best of them, " + name_text(*best) + ", is " +
         fixed_text(-100 * best->saves, 1) + " % slower" + within;
}

std::string gain_text(double share) { return (share < 0 ? "" : "+") + fixed_text(100 * share, 1) + " %"; }

namespace {

/// The command that writes the schedule. `files`: the traces, as words of a shell.
std::string saving_command(const Advice& advice, const Candidate& candidate, const std::string& files) {
  const std::string file = candidate.name + (advice.format == "megatron" ? ".megatron" : ".csv");
  if (candidate.for_costs)
    return "plumbline advise " + files + advice.given + " --schedule " + candidate.name + " --save " + file;
  std::string command = "plumbline schedule " + candidate.name + " -p " +
                        std::to_string(candidate.schedule.num_devices) + " -m " +
                        std::to_string(candidate.schedule.num_microbatches);
  if (candidate.chunks > 0) command += " -v " + std::to_string(candidate.chunks);
  return command + " --format " + advice.format + " -o " + file;
}

/// The last lines: who else is as fast, and the command that writes the advised schedule, where one is advised.
std::string next_steps(const Advice& advice, const std::string& files) {
  const AdvisedSchedule* best = advice.best();
  if (best == nullptr) return "";
  const std::string ties = ties_text(advice);
  std::string text = ties.empty() ? "" : "\n" + sentence_text(ties);
  if (best->candidate.is_run || advice.format.empty()) return text;
  const std::string note = replicas_note(advice, best->candidate);
  if (!note.empty()) text += "\n" + sentence_text("The file of the command below " + note + ".");
  return text + next_text(saving_command(advice, best->candidate, files));
}

}  // namespace

std::string schedule_command(const Advice& advice, const AdvisedSchedule& schedule) {
  const std::string note = replicas_note(advice, schedule.candidate);
  return saving_command(advice, schedule.candidate, "FILES") + (note.empty() ? "" : "  # " + note);
}

std::string advice_text(const Advice& advice, std::size_t rows, const std::string& files) {
  const bool knows_bytes = std::ranges::any_of(advice.schedules, [](const auto& one) { return one.memory_bytes > 0; });
  TextTable table({{"schedule"},
                   {"stages", '>', "per device:"},
                   {"step", '>'},
                   {.title = "from", .align = '>', .spare = true},
                   {.title = "to", .align = '>', .spare = true},
                   {"saves", '>'},
                   {"bubble", '>'},
                   {knows_bytes ? "memory" : "microbatches", '>', "held at peak:"},
                   {""}});
  const std::size_t shown = rows == 0 ? advice.schedules.size() : std::min(rows, advice.schedules.size());
  for (std::size_t k = 0; k < advice.schedules.size(); ++k) {
    const AdvisedSchedule& each = advice.schedules[k];
    if (k >= shown && !each.candidate.is_run) continue;
    table.add_row({name_text(each), std::to_string(each.stages_per_device), ns_text(each.step_ns), ns_text(each.low_ns),
                   ns_text(each.high_ns), gain_text(each.saves), percent_text(each.bubble_fraction),
                   knows_bytes ? bytes_text(each.memory_bytes) : number_text(each.stashes), note_text(advice, each)});
  }
  std::string text = verdict_text(verdict_sentence(advice) + ".") + run_text(advice) + '\n' + table.to_string() + '\n';
  if (shown < advice.schedules.size()) {
    text += sentence_text("Of " + std::to_string(advice.schedules.size()) + " schedules the " + std::to_string(shown) +
                          " fastest are shown; --all shows all.");
  }
  if (!knows_bytes) {
    text += sentence_text(
        "A microbatch counts 1 for a device's share of the model. Add --network for bytes and for shorter pipelines.");
  }
  if (has_replicas(advice)) text += sentence_text("Replicas are parallel pipelines that share the microbatches.");
  for (const std::string& sentence : advice.assumptions) text += sentence_text(sentence);
  return text + next_steps(advice, files);
}

std::string advice_to_json(const Advice& advice) {
  using Json = nlohmann::ordered_json;
  const auto whole = [](double ns) { return std::llround(ns); };
  Json schedules = Json::array();
  for (const AdvisedSchedule& each : advice.schedules) {
    Json row{{"schedule", each.candidate.name},
             {"stages_per_device", each.stages_per_device},
             {"pipeline_ranks", each.candidate.schedule.num_devices},
             {"replicas", each.candidate.replicas},
             {"step_ns", whole(each.step_ns)},
             {"low_ns", whole(each.low_ns)},
             {"high_ns", whole(each.high_ns)},
             {"saves", each.saves},
             {"bubble_fraction", each.bubble_fraction},
             {"stashes", each.stashes},
             {"fits", each.fits},
             {"this_run", each.candidate.is_run},
             {"ties", each.ties},
             {"command", schedule_command(advice, each)}};
    if (each.memory_bytes > 0) row["memory_bytes"] = each.memory_bytes;
    schedules.push_back(std::move(row));
  }
  Json left_out = Json::array();
  for (const UnfitSchedule& each : advice.left_out)
    left_out.push_back({{"schedule", each.name}, {"reason", each.reason}});
  const Json document{{"format", "plumbline-advice"},
                      {"version", 1},
                      {"runtime", advice.runtime},
                      {"run_by", advice.run_by},
                      {"verdict", verdict_sentence(advice)},
                      {"devices", advice.num_devices},
                      {"microbatches", advice.num_microbatches},
                      {"measured_step_ns", whole(advice.measured_ns)},
                      {"measured_steps", advice.steps},
                      {"predicted_step_ns", whole(advice.predicted_ns)},
                      {"spread", advice.spread},
                      {"uncertainty", advice.uncertainty},
                      {"assumptions", advice.assumptions},
                      {"schedules", schedules},
                      {"left_out", left_out}};
  return document.dump(1) + '\n';
}

}  // namespace plumb
